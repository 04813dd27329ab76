// Where the seeds of `npm run test:nightly` begin. Each day has 100,000 seeds of its own, so two nights never repeat a
// plan, and they lie above the seeds of `npm test` and `npm run test:full`, which are below 10,001.
const seedsPerDay = 100_000
const daysSince2026 = Math.floor((Date.now() - Date.UTC(2026, 0, 1)) / 86_400_000)

/**
 * Returns the first seed of a nightly suite: the one in the environment variable, or else today's (UTC). Prints it as that
 * variable, so that a failure can be repeated. Throws if the variable isn't a whole number.
 */
export function firstSeed(variable: string): number {
  const named = process.env[variable]
  const seed = named === undefined ? Math.max(1, daysSince2026) * seedsPerDay + 1 : Number(named)
  if (!Number.isSafeInteger(seed)) throw new Error(`${variable} is ${named}. It must be a whole number.`)
  console.log(`${variable}=${seed}`)
  return seed
}
