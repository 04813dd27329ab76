const { REPLY_NIGHTLY, REPLY_MATRIX } = process.env

/** Long runs have scripts of their own: `npm run test:nightly`, and `npm run test:matrix` for every server version. */
const kind = REPLY_MATRIX !== undefined ? 'matrix' : REPLY_NIGHTLY !== undefined ? 'nightly' : 'test'
const include = [`test/**/*.${kind}.ts`]

/** One project a package that has tests. `vitest.config.ts` reads the list. */
export default ['reply', 'testing', 'console', 'sink', 'telegram', 'slack', 'discord', 'whatsapp'].map((name) => ({
  extends: true as const,
  test: { name, root: `packages/${name}`, include },
}))
