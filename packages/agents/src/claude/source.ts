import { randomUUID } from 'node:crypto'
import { type Clock, type OnError, ReplyError, systemClock } from '@reply/core'
import { createSecretFilter } from '@reply/core/internal'
import { createLocalAgent, type LocalRun, type SessionInfo, type Source } from '@reply/core/source'
import { textOnly } from '../command/text-only.ts'
import { requireCommand } from '../process/find.ts'
import { type Program, startProgram } from '../process/program.ts'
import type { ChildOptions } from '../process/start.ts'
import { createChecklists } from './checklist.ts'
import { offersIn } from './decode/offers.ts'
import { decodeClaude } from './decode.ts'
import type { ClaudeSaid } from './said.ts'
import { type ClaudeTeller, createTeller } from './tell.ts'

/** How Claude Code is started. */
export interface ClaudeOptions extends Omit<ChildOptions, 'command' | 'args' | 'signal'> {
  /** The program: a path, or a name in `PATH`. Default `claude`. */
  readonly command?: string | undefined
  /** Further arguments, such as `['--permission-mode', 'plan']`. Default: none. */
  readonly args?: readonly string[] | undefined
  /** The model, such as `sonnet`. Default: Claude Code's own. */
  readonly model?: string | undefined
  /** How long Claude Code may take to say which models and commands it has, in ms. Default 60,000. */
  readonly deadlineMs?: number | undefined
  /**
   * How long a session's process may say nothing between two runs until it is ended, in ms. What it runs in the background
   * ends with it; the next prompt resumes the session. `Infinity` keeps it until `close`. Default 600,000.
   */
  readonly idleMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
  /** Receives lines that could not be read. Default: they are ignored. */
  readonly onError?: OnError | undefined
}

const twoWay = [
  ...['-p', '--verbose', '--output-format', 'stream-json', '--include-partial-messages'],
  ...['--input-format', 'stream-json', '--permission-prompt-tool', 'stdio'],
]

interface Opened {
  readonly program: Program
  readonly teller: ClaudeTeller
  /** A run begins. */
  wake(): void
  /** No run is going. */
  nap(): void
}

/**
 * Claude Code as a source: a process for each session that is at work or was lately. Its permission requests and the questions of
 * AskUserQuestion are asks; an abort interrupts it. A session's id is Claude Code's own: one that is not known here is
 * resumed by it. Tested with 2.1.197, with the protocol that `@anthropic-ai/claude-agent-sdk` speaks. Throws `invalid` for
 * an invalid `idleMs`.
 */
export function claude(options: ClaudeOptions = {}): Source {
  const { command = 'claude', args = [], model, cwd = process.cwd(), onError = () => {}, ...others } = options
  const { deadlineMs = 60_000, idleMs = 600_000, clock = systemClock, ...rest } = others
  if (!(idleMs > 0)) throw new ReplyError('invalid', `idleMs is ${idleMs}; give a number above 0.`)
  const redact = createSecretFilter({ args, env: { ...process.env, ...rest.env } })
  const processes = new Map<string, Opened>()
  /** Sessions whose process is being ended: two processes of one session would write the same file. */
  const retiring = new Map<string, Promise<void>>()
  /** Sessions whose process is being started. */
  const opening = new Map<string, Promise<Opened>>()
  const begun = new Set<string>()
  const checklists = createChecklists()
  const answers = new Map<string, (error: string | undefined, value: unknown) => void>()
  /** Those that are asked what there is. */
  const asked = new Set<Program>()
  let isClosed = false
  const agent = createLocalAgent({
    name: command,
    redact,
    clock,
    start: () => requireCommand({ ...rest, command, cwd }),
    create: ({ directory = cwd }) => ({ sessionID: randomUUID(), directory }),
    find: async ({ sessionID, directory = cwd }) => {
      if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(sessionID)) return undefined
      begun.add(sessionID)
      return { sessionID, directory }
    },
    prompt: async (run, prompt) => {
      const text = textOnly(command, prompt)
      const { program, teller, wake, nap } = processes.get(run.sessionID) ?? (await openOnce(run))
      // It was aborted while the process was started, or an earlier one was ended.
      if (!run.isOpen()) return teller.run() ? undefined : nap()
      wake()
      teller.begin(run)
      const message = { role: 'user', content: [{ type: 'text', text }] }
      await program.send({ type: 'user', message, parent_tool_use_id: null, session_id: run.sessionID })
    },
    cancel: async (run) => {
      const found = processOf(run) ?? parentOf(run)
      // Its prompt was not sent.
      if (!found) return run.end({ type: 'aborted' })
      await found.program.send({
        type: 'control_request',
        request_id: randomUUID(),
        request: { subtype: 'interrupt' },
      })
    },
    kill: (run) => void (processOf(run) ?? parentOf(run))?.program.close(),
    models: async () =>
      (await offers()).models.map(({ value, displayName, supportedEffortLevels }) => {
        return { providerID: 'anthropic', modelID: value, name: displayName, variants: supportedEffortLevels }
      }),
    commands: async () => (await offers()).commands,
    close: () => {
      isClosed = true
      for (const { program } of processes.values()) void program.close()
      for (const program of asked) void program.close()
    },
  })
  return agent.source

  function processOf(run: LocalRun) {
    return [...processes.values()].find(({ teller }) => teller.run() === run)
  }

  /** Claude Code can only be interrupted as a whole: its sub-agents with the session that started them. */
  function parentOf({ sessionID }: Pick<SessionInfo, 'sessionID'>) {
    for (let id = agent.session(sessionID)?.parentID; id !== undefined; id = agent.session(id)?.parentID) {
      const found = processes.get(id)
      if (found) return found
    }
    return undefined
  }

  async function openOnce(run: LocalRun): Promise<Opened> {
    const { sessionID } = run
    const opened = opening.get(sessionID) ?? open(run).finally(() => opening.delete(sessionID))
    opening.set(sessionID, opened)
    return await opened
  }

  async function open({ sessionID, directory }: LocalRun): Promise<Opened> {
    await retiring.get(sessionID)
    const session = begun.has(sessionID) ? ['--resume', sessionID] : ['--session-id', sessionID]
    const teller = createTeller({
      now: () => clock.now(),
      checklist: checklists.of(sessionID),
      respond: async (requestID, response) => {
        const answer = { subtype: 'success', request_id: requestID, response }
        await processes.get(sessionID)?.program.send({ type: 'control_response', response: answer })
      },
    })
    // Only a session that Claude Code has begun can be resumed.
    const tell = (said: ClaudeSaid, value: unknown): void => {
      if (said.type === 'init') begun.add(sessionID)
      teller.tell(said, value)
      if (!teller.run()) nap()
    }
    let wake = (): void => {}
    const program = await startClaude(session, directory, tell, (said) => {
      wake()
      if (processes.get(sessionID)?.teller === teller) processes.delete(sessionID)
      teller.run()?.end({ type: 'failed', error: { name: 'ExitError', message: said, raw: undefined } })
    })
    const opened: Opened = { program, teller, wake: () => wake(), nap }
    processes.set(sessionID, opened)
    if (isClosed) void program.close()
    return opened

    function nap(): void {
      wake()
      wake = clock.after(idleMs, () => {
        if (processes.get(sessionID) !== opened) return
        processes.delete(sessionID)
        retiring.set(
          sessionID,
          program.close().finally(() => retiring.delete(sessionID)),
        )
      })
    }
  }

  async function startClaude(
    session: readonly string[],
    directory: string | undefined,
    tell: (said: ClaudeSaid, value: unknown) => void,
    onEnd: (said: string) => void,
  ): Promise<Program> {
    const chosen = model === undefined ? [] : ['--model', model]
    const program = await startProgram({
      ...rest,
      command,
      cwd: directory ?? cwd,
      args: [...twoWay, ...session, ...chosen, ...args],
      onError,
      onLine: (value) => {
        for (const said of decodeClaude(value)) {
          if (said.type === 'response') answers.get(said.requestID)?.(said.error, said.value)
          else if (said.type === 'unknown-request') refuse(said)
          else tell(said, value)
        }
      },
      onEnd: ({ code, signal }, last) => {
        onEnd(`${command} ended with ${code === undefined ? signal : `code ${code}`}${last === '' ? '.' : `: ${last}`}`)
      },
    })
    return program

    function refuse({ requestID, subtype }: Extract<ClaudeSaid, { readonly type: 'unknown-request' }>): void {
      const error = `"${subtype}" can't be answered here.`
      onError(new ReplyError('unsupported', `${command} asked for "${subtype}", which was refused.`))
      const response = { subtype: 'error', request_id: requestID, error }
      program.send({ type: 'control_response', response }).catch(() => {})
    }
  }

  /** Asks a process of its own, which ends then. */
  async function offers(): Promise<ReturnType<typeof offersIn>> {
    const requestID = randomUUID()
    let program: Program | undefined
    let stop = (): void => {}
    let isOver = false
    try {
      const answered = new Promise<unknown>((resolve, reject) => {
        const fail = (said: string): void => reject(new ReplyError('refused', redact(said)))
        answers.set(requestID, (error, value) => (error === undefined ? resolve(value) : fail(error)))
        const unanswered = `${command} did not say what it offers within ${deadlineMs} ms. Raise deadlineMs if it needs longer.`
        stop = clock.after(deadlineMs, () => reject(new ReplyError('unreachable', unanswered)))
        startClaude([], cwd, () => {}, fail)
          .then((begun) => {
            program = begun
            asked.add(begun)
            if (isClosed || isOver) void begun.close()
            const request = { subtype: 'initialize', hooks: {} }
            return begun.send({ type: 'control_request', request_id: requestID, request })
          })
          .catch(reject)
      })
      return offersIn(await answered)
    } finally {
      isOver = true
      stop()
      answers.delete(requestID)
      if (program) asked.delete(program)
      void program?.close()
    }
  }
}
