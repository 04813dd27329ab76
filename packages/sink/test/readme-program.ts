import { readFileSync } from 'node:fs'
import type { ReplyObserver } from '@reply/core'
import { settledWith, text } from './make.ts'

export interface ProgramOptions {
  /** The page with the program, by its path from the repository's root. */
  readonly page: string
  /** What the program imports, by module. `@reply/core` is added. */
  readonly modules: Readonly<Record<string, object>>
  readonly env: Readonly<Record<string, string>>
}

const AsyncFunction: FunctionConstructor = Object.getPrototypeOf(async () => {}).constructor

/** Runs a page's first program, which waits for a reply of one text. Resolves with what it logged. */
export async function runFirstProgram({ page, modules, env }: ProgramOptions): Promise<readonly unknown[]> {
  const [, source = ''] =
    /```ts\n([\s\S]*?)```/.exec(readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')) ?? []
  const body = source.replace(/^import \{(.*?)\} from '(.*?)'$/gm, "const {$1} = modules['$2']")
  const logged: unknown[] = []
  const run = new AsyncFunction('modules', 'process', 'console', body)
  const console = { log: (...values: readonly unknown[]) => logged.push(...values) }
  await run({ '@reply/core': { connect }, ...modules }, { env }, console)
  return logged
}

/** An OpenCode whose reply begins a moment after the prompt, and ends at once. */
function connect(): object {
  return {
    close: async () => {},
    prompt: (_: unknown, { observe }: { readonly observe: () => readonly ReplyObserver[] }) => {
      setTimeout(() => {
        const reply = settledWith([text('It is a typo.')])
        for (const { replyStarted } of observe()) void replyStarted?.({ type: 'replyStarted', reply })
      }, 10)
    },
  }
}
