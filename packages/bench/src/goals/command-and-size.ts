import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'

/** How long a command takes to start, against Node alone. */
export const commandGoals: readonly Goal[] = [
  {
    id: 'command.help',
    what: 'CPU time of `reply --help`, against that of Node with an empty program',
    unit: '× as long',
    bound: { atMost: 2 },
    measure: (effort) => ratioToNode(['--help'], effort),
  },
  {
    id: 'command.bridge',
    what: 'CPU time of `reply bridge` with Telegram until it serves /healthz, against that',
    unit: '× as long',
    bound: { atMost: 6 },
    measure: bridgeStartRatio,
  },
]

const command = fileURLToPath(new URL('../../../console/bin/reply.mjs', import.meta.url))
const meter = new URL('../meter.js', import.meta.url).href

/** The CPU time of `reply bridge` until it listens, as a multiple of that of an empty program. */
function bridgeStartRatio(effort: Effort): number {
  const folder = mkdtempSync(join(tmpdir(), 'reply-bench-'))
  const path = join(folder, 'reply.json')
  // Nothing listens at these addresses, so the bridge keeps trying.
  const config = {
    state: join(folder, 'state'),
    servers: { home: { url: 'http://127.0.0.1:1' } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: 'http://127.0.0.1:1' } },
    people: { ann: { ids: ['tg:1'], may: ['prompt'] } },
  }
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
  try {
    return ratioToNode(['bridge', '--config', path, '--listen', '127.0.0.1:0'], effort)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The median CPU time of `reply` with these arguments, as a multiple of that of an empty program. */
function ratioToNode(args: readonly string[], effort: Effort): number {
  const ratios: number[] = []
  for (let round = 0; round < (effort === 'full' ? 15 : 5); round++)
    ratios.push(cpuMsOf([command, ...args]) / cpuMsOf(['--eval', '0']))
  return median(ratios)
}

/** Returns the CPU time of a Node process until it ends or listens, in ms. Throws if it fails. */
function cpuMsOf(args: readonly string[]): number {
  const { output, status } = spawnSync(process.execPath, ['--import', meter, ...args], {
    env: { ...process.env, TOKEN: '1:bench' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    encoding: 'utf8',
  })
  const [, , errors, used] = output
  if (status === 0) return Number(used)
  throw new Error(`node ${args.join(' ')} ended with exit code ${status}: ${errors}`)
}

/** The code that a program needs to make replies from a stream that it reads itself. */
const pure =
  'createDecoder, createEventReader, emptyTrack, track, reduce, diff, createDispatcher, record, replay, emptyReply'

/** The size that @reply/core adds to a program in a browser, minified, with its dependencies. */
export const sizeGoals: readonly Goal[] = [
  {
    id: 'size.pure',
    what: '@reply/core for a program that reads the stream itself, bundled and minified',
    unit: 'kB',
    // 30 % of it is zod, the small build. 18 kB are the shapes of OpenCode 2, which `replay` reads as well.
    bound: { atMost: 160 },
    measure: () => bundledKB(`export { ${pure} } from '@reply/core'`),
  },
  {
    id: 'size.all',
    what: 'all of @reply/core, bundled and minified',
    unit: 'kB',
    // 60 kB are the SDK of OpenCode 1, and 32 kB the source for OpenCode 2.
    bound: { atMost: 340 },
    measure: () => bundledKB("export * from '@reply/core'"),
  },
]

/** Resolves with the size of a module's bundle for browsers, minified, in thousands of bytes. */
async function bundledKB(contents: string): Promise<number> {
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
