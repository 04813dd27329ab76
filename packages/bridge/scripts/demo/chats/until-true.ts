/** Polls until the condition holds, without a limit. Rejects if it throws. */
export async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20))
}
