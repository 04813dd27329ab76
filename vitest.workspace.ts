/** Long runs over every recording have a script of their own; see `npm run test:nightly`. */
const include = process.env.REPLY_NIGHTLY === undefined ? ['test/**/*.test.ts'] : ['test/**/*.nightly.ts']

/** One project a package that has tests. `vitest.config.ts` reads the list. */
export default ['packages/reply', 'packages/testing', 'packages/console'].map((root) => ({
  extends: true as const,
  test: { name: root.slice('packages/'.length), root, include },
}))
