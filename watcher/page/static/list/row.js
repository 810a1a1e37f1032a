// One line of the list. Its element stays the same for as long as the tenant is there: what changes is
// changed in place, so that focus, selection and scroll stay where they are.

import { COLUMNS, searchText } from "./columns.js";
import { el } from "../shared/dom.js";

export class Row {
  // The roles are written out because the lines are laid out as grids, which drops them.
  constructor(row) {
    this.cells = COLUMNS.map(({ id, title, isQuota }) =>
      id === "name"
        ? el("th", { scope: "row", role: "rowheader", class: "col-name" })
        : el("td", { role: "cell", class: `col-${id}${isQuota ? " quota" : ""}`, "data-title": title }),
    );
    this.facts = COLUMNS.map(() => undefined);
    this.element = el("tr", { role: "row" }, this.cells);
    this.element.addEventListener("animationend", () => this.element.classList.remove("news"));
    this.update(row);
  }

  /** Whether anything that is shown has changed. */
  update(row) {
    this.row = row;
    this.text = searchText(row);
    this.element.className = row.phase === "Failed" ? "is-failed" : row.isDrifted ? "is-drifted" : "";
    let isNews = false;
    COLUMNS.forEach((column, index) => {
      const facts = JSON.stringify(column.facts(row) ?? null);
      if (facts === this.facts[index]) return;
      this.facts[index] = facts;
      this.cells[index].replaceChildren(...column.show(row).filter(Boolean));
      isNews = true;
    });
    return isNews;
  }

  highlight() {
    this.element.classList.add("news");
  }
}
