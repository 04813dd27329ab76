const kinds = ['test', 'full', 'nightly', 'matrix']

/** Which files run, by how their names end. `npm test` is what one waits for; the others have scripts of their own. */
const kind = process.env.REPLY_TESTS ?? 'test'
if (!kinds.includes(kind)) throw new Error(`REPLY_TESTS is ${kind}. It must be one of ${kinds.join(', ')}.`)
const include = [`test/**/*.${kind}.ts`]

/** One project a package that has tests. `vitest.config.ts` reads the list. */
export default ['reply', 'testing', 'console', 'sink', 'telegram', 'slack', 'discord', 'whatsapp'].map((name) => ({
  extends: true as const,
  test: { name, root: `packages/${name}`, include },
}))
