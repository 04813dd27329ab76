const { REPLY_NIGHTLY, REPLY_MATRIX } = process.env

/** Long runs have scripts of their own: `npm run test:nightly`, and `npm run test:matrix` for every server version. */
const kind = REPLY_MATRIX !== undefined ? 'matrix' : REPLY_NIGHTLY !== undefined ? 'nightly' : 'test'
const include = [`test/**/*.${kind}.ts`]

/** One project a package that has tests. `vitest.config.ts` reads the list. */
export default ['packages/reply', 'packages/testing', 'packages/console', 'packages/sink', 'packages/telegram'].map(
  (root) => ({
    extends: true as const,
    test: { name: root.slice('packages/'.length), root, include },
  }),
)
