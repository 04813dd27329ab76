/** For tests with a clock that is moved by hand: lets requests arrive until something is so, and no longer than `withinMs` of real time. */
export async function until(isSo: () => boolean, what = isSo.toString(), withinMs = 5000): Promise<void> {
  const end = performance.now() + withinMs
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`Never came to be: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
