/** One project a package that has tests. `vitest.config.ts` reads the list. */
export default ['packages/reply', 'packages/testing', 'packages/console'].map((root) => ({
  extends: true as const,
  test: { name: root.slice('packages/'.length), root, include: ['test/**/*.test.ts'] },
}))
