import { readFileSync } from 'node:fs'
import type { ReplyObserver } from '@reply/core'
import { transformSync } from 'esbuild'
import * as sink from '../src/index.ts'
import * as sinkNode from '../src/node.ts'
import { settledWith, text } from './make.ts'

export interface ProgramOptions {
  /** The page with the program, by its path from the repository's root. */
  readonly page: string
  /** Which program of the page, from 1. Default 1. */
  readonly nth?: number
  /** What the program imports, by module. `@reply/core`, `@reply/sink` and `@reply/sink/node` are added. */
  readonly modules: Readonly<Record<string, object>>
  readonly env?: Readonly<Record<string, string>>
  /** Receives the handlers of the program's `process.once`. Call them to end the program. */
  readonly ends?: (() => unknown)[]
  /** Functions that take the place of global ones. */
  readonly globals?: Readonly<Record<string, unknown>>
}

const AsyncFunction: FunctionConstructor = Object.getPrototypeOf(async () => {}).constructor

/**
 * Runs a page's program, whose prompts get a reply of one text. Resolves when its last statement has run, with the list
 * that it logs to.
 */
export async function runProgram({
  page,
  nth = 1,
  modules,
  env = {},
  ends = [],
  globals = {},
}: ProgramOptions): Promise<readonly unknown[]> {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
  const [, source = ''] = [...text.matchAll(/```ts\n(import [\s\S]*?)```/g)][nth - 1] ?? []
  const { code } = transformSync(source, { loader: 'ts', format: 'esm', target: 'node20' })
  const body = code.replace(/^import \{(.*?)\} from "(.*?)";$/gm, "const {$1} = modules['$2']")
  const logged: unknown[] = []
  const run = new AsyncFunction('modules', 'process', 'console', ...Object.keys(globals), body)
  const log = (...values: readonly unknown[]): unknown => logged.push(...values)
  const once = (_: string, end: () => unknown): unknown => ends.push(end)
  await run(
    { '@reply/core': { connect }, '@reply/sink': sink, '@reply/sink/node': sinkNode, ...modules },
    { env, once },
    { log, error: log },
    ...Object.values(globals),
  )
  return logged
}

/** An OpenCode whose reply begins a moment after the prompt, and ends at once. */
function connect(): object {
  return {
    close: async () => {},
    prompt: (_: unknown, { observe }: { readonly observe: () => readonly ReplyObserver[] }) => {
      const reply = settledWith([text('It is a typo.')])
      setTimeout(() => {
        for (const { replyStarted } of observe()) void replyStarted?.({ type: 'replyStarted', reply })
      }, 10)
      return { result: Promise.resolve(reply), abort: async () => reply }
    },
  }
}
