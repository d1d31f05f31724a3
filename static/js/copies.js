// Buttons that copy the value of a field: data-copies names it, data-copied is said afterwards.

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copies);
  field.focus();
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Not over plain http: what is selected can be copied by the keyboard.
    return;
  }
  button.textContent = button.dataset.copied;
});
