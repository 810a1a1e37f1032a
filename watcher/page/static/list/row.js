// One row of the list. It keeps its element while the tenant exists, and changes only cells whose data changed, so
// that focus, selection and scroll position are kept.

import { COLUMNS, searchText } from "./columns.js";
import { el } from "../shared/dom.js";

export class Row {
  // The roles are explicit, because rows with the layout of a grid lose their implicit roles.
  constructor(row) {
    this.cells = COLUMNS.map(({ id, title, isQuota }) =>
      id === "name"
        ? el("th", { scope: "row", role: "rowheader", class: "col-name" })
        : el("td", { role: "cell", class: `col-${id}${isQuota ? " quota" : ""}`, "data-title": title }),
    );
    this.inputs = COLUMNS.map(() => undefined);
    this.element = el("tr", { role: "row" }, this.cells);
    this.element.addEventListener("animationend", () => this.element.classList.remove("is-updated"));
    this.update(row);
  }

  /** Update the cells. Returns whether a cell has changed. */
  update(row) {
    this.row = row;
    this.text = searchText(row);
    this.element.className = row.phase === "Failed" ? "is-failed" : row.isDrifted ? "is-drifted" : "";
    let isChanged = false;
    COLUMNS.forEach((column, index) => {
      const inputs = JSON.stringify(column.inputs(row) ?? null);
      if (inputs === this.inputs[index]) return;
      this.inputs[index] = inputs;
      this.cells[index].replaceChildren(...column.show(row).filter(Boolean));
      isChanged = true;
    });
    return isChanged;
  }

  highlight() {
    this.element.classList.add("is-updated");
  }
}
