// Scores of the results of the search field, in place of those of Sphinx.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  // Pages of the guide come before examples, and the history of the project comes last.
  // Index entries, which have scores of 50 to 100, lead to sections of the guide.
  score: (result) => {
    const [page, , , , score, , kind] = result;
    if (/^(changelog|contributing|citing|measurements|genindex)$/.test(page)) return score / 8;
    if (page === "glossary") return kind === "index" ? score / 4 : score;
    if (/^(api|index|start|run|read|methods|advanced)$|\/index$/.test(page)) return score / 2;
    if (page.startsWith("generated/")) return kind === "title" ? score + 8 : score;
    return page.includes("/") ? score + 1 : score + 4;
  },
};
