import { build } from 'esbuild'
import type { Goal } from '../goal.ts'

/** What a program needs to make replies from a stream that it reads itself. */
const pure =
  'createDecoder, createEventReader, emptyTrack, track, reduce, diff, createDispatcher, record, replay, emptyReply'

/** What @reply/core adds to a program in a browser, minified, its dependencies included. */
export const sizeGoals: readonly Goal[] = [
  {
    id: 'size.pure',
    what: '@reply/core for a program that reads the stream itself, bundled and minified',
    unit: 'kB',
    // 30 % of it is zod, the small build. 18 kB are the shapes of OpenCode 2, which `replay` reads as well.
    bound: { atMost: 160 },
    measure: () => bundled(`export { ${pure} } from '@reply/core'`),
  },
  {
    id: 'size.all',
    what: 'all of @reply/core, bundled and minified',
    unit: 'kB',
    // 60 kB are the SDK of OpenCode 1, and 32 kB the source for OpenCode 2.
    bound: { atMost: 340 },
    measure: () => bundled("export * from '@reply/core'"),
  },
]

/** In thousands of bytes. */
async function bundled(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
  })
  return outputFiles.reduce((sum, { contents: bytes }) => sum + bytes.length, 0) / 1000
}
