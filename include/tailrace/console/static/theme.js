// Sets the theme before the first paint: Airflow's own choice where it made one, else the system's.
// A classic script, as a module would run after the first paint.
(() => {
  const read = () => {
    let chosen = null;
    try {
      chosen = window.localStorage.getItem("theme"); // written by Airflow's pages
    } catch {
      // storage is off: the system's theme holds
    }
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
  };
  read();
  window.addEventListener("storage", (event) => {
    if (event.key !== "theme" && event.key !== null) return;
    read();
    window.dispatchEvent(new Event("tailrace-theme"));
  });
})();
