import { randomUUID } from 'node:crypto'
import type { OnError } from '@reply/core'
import { createSecretFilter } from '@reply/core/internal'
import { createLocalAgent, type LocalEnding, type LocalRun, type Source } from '@reply/core/source'
import { type Program, startProgram } from '../agent/program.ts'
import { requireCommand } from '../child/find.ts'
import type { ChildOptions } from '../child/start.ts'
import { exitFailure } from '../command/play.ts'
import { textOnly } from '../command/text-only.ts'
import { decodeCodexExec } from './decode/codex.ts'
import { createGeminiDecoder } from './decode/gemini.ts'
import { decodeOpencodeRun } from './decode/opencode.ts'
import type { OneWaySaid } from './said.ts'

/** How a one-way program is started. */
export interface OneWayOptions extends Omit<ChildOptions, 'command' | 'args' | 'signal'> {
  /** The program: a path, or a name in `PATH`. Default: its usual name. */
  readonly command?: string | undefined
  /** Further arguments, such as a model or what it may do without asking. Default: none. */
  readonly args?: readonly string[] | undefined
  /** Receives lines that could not be read. Default: they are ignored. */
  readonly onError?: OnError | undefined
}

interface OneWay {
  readonly command: string
  /** Those that the options add. */
  readonly args: readonly string[]
  /**
   * `session` is the program's own id, from the session's first run. No text may be read as an option: people who only
   * chat would choose what the program may do.
   */
  readonly argsOf: (text: string, session: string | undefined) => readonly string[]
  /** Makes a reader for the lines of one run. */
  readonly decoder: () => (value: unknown) => readonly OneWaySaid[]
}

/**
 * `codex exec --json` for each prompt. It cannot ask: what its approval policy would ask for is refused. Use `codex` for
 * approvals. Tested with 0.169.0.
 */
export function codexExec({ args = [], ...options }: OneWayOptions = {}): Source {
  const before = ['exec', '--json', '--skip-git-repo-check', ...args]
  return oneWay(options, {
    command: 'codex',
    args,
    argsOf: (text, session) => [...before, ...(session === undefined ? ['--', text] : ['resume', '--', session, text])],
    decoder: () => decodeCodexExec,
  })
}

/**
 * `gemini --output-format stream-json` for each prompt. It cannot ask: tools that need a permission are not there, unless
 * `args` allow them. Each prompt begins a conversation. Tested with 0.61.0.
 */
export function geminiPrompt({ args = [], ...options }: OneWayOptions = {}): Source {
  return oneWay(options, {
    command: 'gemini',
    args,
    argsOf: (text) => ['--output-format', 'stream-json', ...args, `--prompt=${text}`],
    decoder: createGeminiDecoder,
  })
}

/**
 * `opencode run --format json` for each prompt. It cannot ask: permissions are rejected. `connect` of `@reply/core` asks.
 * Tested with 1.18.33.
 */
export function opencodeRun({ args = [], ...options }: OneWayOptions = {}): Source {
  return oneWay(options, {
    command: 'opencode',
    args,
    argsOf: (text, session) => [
      ...['run', '--format', 'json', ...(session === undefined ? [] : ['--session', session])],
      ...[...args, '--', text],
    ],
    decoder: () => decodeOpencodeRun,
  })
}

function oneWay(options: Omit<OneWayOptions, 'args'>, { command: name, args, argsOf, decoder }: OneWay): Source {
  const { command = name, cwd = process.cwd(), onError = () => {}, ...rest } = options
  const programs = new Map<LocalRun, Program>()
  const canceled = new WeakSet<LocalRun>()
  /** The programs' own ids of our sessions. */
  const known = new Map<string, string>()
  const agent = createLocalAgent({
    name: command,
    redact: createSecretFilter({ args, env: { ...process.env, ...rest.env } }),
    start: () => requireCommand({ ...rest, command, cwd }),
    create: ({ directory = cwd }) => ({ sessionID: `ses_${randomUUID()}`, directory }),
    prompt: async (run, prompt) => {
      const text = textOnly(command, prompt)
      const decode = decoder()
      let ending: LocalEnding | undefined
      const program = await startProgram({
        ...rest,
        command,
        cwd: run.directory ?? cwd,
        args: argsOf(text, known.get(run.sessionID)),
        onError,
        onLine: (value) => {
          for (const said of decode(value)) {
            if (said.type === 'output') run.write(said.output)
            else if (said.type === 'session') known.set(run.sessionID, said.id)
            else ending = said.ending
          }
        },
        onEnd: (exit, last) => {
          programs.delete(run)
          if (canceled.has(run)) return run.end({ type: 'aborted' })
          if (ending && (ending.type === 'failed' || exit.code === 0)) return run.end(ending)
          const cutOff = { name: 'malformed', message: `${command} ended without saying how.`, raw: undefined }
          const error = exit.code === 0 ? cutOff : exitFailure(command, exit)
          run.end({ type: 'failed', error: { ...error, message: `${error.message} ${last}`.trim() } })
        },
      })
      programs.set(run, program)
      // Stopped while it was started.
      if (canceled.has(run) || !run.isOpen()) void program.close()
      program.finish()
    },
    cancel: async (run) => {
      canceled.add(run)
      await programs.get(run)?.close()
    },
    close: () => {
      for (const program of programs.values()) void program.close()
    },
  })
  return agent.source
}
