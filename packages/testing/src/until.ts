/**
 * For tests with a hand clock: lets requests arrive until a condition holds. Rejects with `what` after `withinMs` of
 * real time, by default a minute.
 */
export async function until(isSo: () => boolean, what = isSo.toString(), withinMs = 60_000): Promise<void> {
  const end = performance.now() + withinMs
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`Timed out waiting for: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
