import { randomUUID } from 'node:crypto'
import { type Clock, type OnError, ReplyError, systemClock } from '@reply/core'
import { createSecretFilter } from '@reply/core/internal'
import { createLocalAgent, type LocalRun, type SessionInfo, type Source } from '@reply/core/source'
import { requireCommand } from '../process/command-failure.ts'
import { type JsonProgram, startJsonProgram } from '../process/json-program.ts'
import type { ProcessOptions } from '../process/start-process.ts'
import { createChecklists } from './checklist.ts'
import type { ClaudeEvent } from './decode/event.ts'
import { decodeClaude } from './decode/line.ts'
import { offersIn } from './decode/offers.ts'
import { promptBlocks } from './prompt.ts'
import { type ClaudeSessionWriter, createSessionWriter } from './session-writer.ts'
import { createTranscripts, type TranscriptEnd } from './transcript/transcripts.ts'

/** The options of `claude`. */
export interface ClaudeOptions extends Omit<ProcessOptions, 'command' | 'args' | 'signal'> {
  /** The program: a path, or a name in `PATH`. Default `claude`. */
  readonly command?: string | undefined
  /** Further arguments, for example `['--permission-mode', 'plan']`. Default: none. */
  readonly args?: readonly string[] | undefined
  /** The model, for example `sonnet`. Default: Claude Code's own. */
  readonly model?: string | undefined
  /** How long Claude Code may take to list its models and commands, in ms. Default 60,000. */
  readonly deadlineMs?: number | undefined
  /**
   * How long a session's process may be silent before it is ended, in ms, if nothing runs in it, not even in the
   * background. The next prompt resumes the session. `Infinity` keeps it until `close`. Default 600,000.
   */
  readonly idleMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
  /** Receives errors that stop nothing, for example lines that can't be read. Default: ignored. */
  readonly onError?: OnError | undefined
}

const protocolArgs = [
  ...['-p', '--verbose', '--output-format', 'stream-json', '--include-partial-messages'],
  ...['--input-format', 'stream-json', '--permission-prompt-tool', 'stdio', '--replay-user-messages'],
]

/**
 * The session's states tell when no turn is left to begin. The tools for checklists are off for the newest models
 * otherwise. From 2.1.318 on, the third sends the text of sub-agents in the foreground too. Earlier versions ignore it.
 * Your environment and `env` override all of them.
 */
const defaultEnv = {
  CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
  CLAUDE_CODE_ENABLE_TODO_TOOLS: '1',
  CLAUDE_CODE_FORWARD_SUBAGENT_TEXT: '1',
}

/** Returns the variables of `defaultEnv` that your own environment doesn't set. */
function unsetDefaults(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(defaultEnv).filter(([name]) => process.env[name] === undefined))
}

/** Whether Claude Code can have made the id of a session or a message. */
const isUUID = (text: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)

/** A copy of a session that has no turn of its own yet. */
interface Fork {
  readonly originalID: string
  /** Where the copy ends. Undefined for all of a session whose transcript can't be read. */
  readonly end: TranscriptEnd | undefined
}

/** The process of a session. */
interface SessionProcess {
  readonly program: JsonProgram
  readonly writer: ClaudeSessionWriter
  /** Ends it. The next prompt of the session waits for that, and starts another one. */
  end(): void
  /** Stops the timer that ends an idle process. Called when a run begins. */
  stopIdleTimer(): void
  /** Starts that timer again from the beginning. Called when nothing runs, not even in the background. */
  startIdleTimer(): void
}

/**
 * Claude Code as a source, with one process per active session. Permission requests and the questions of
 * AskUserQuestion become asks. Sub-agents and commands in the background go on after their run, and Claude Code's turns
 * after them are runs without a prompt. Session ids are Claude Code's own, so the id of an earlier session resumes it.
 * Tested with 2.1.197 and 2.1.332, with the protocol of `@anthropic-ai/claude-agent-sdk`. Throws `invalid` for
 * an invalid `idleMs`.
 */
export function claude(options: ClaudeOptions = {}): Source {
  const { command = 'claude', args = [], model, cwd = process.cwd(), onError = () => {}, ...others } = options
  const { deadlineMs = 60_000, idleMs = 600_000, clock = systemClock, ...rest } = others
  if (!(idleMs > 0)) throw new ReplyError('invalid', `idleMs is ${idleMs}. Give a number above 0.`)
  const redact = createSecretFilter({ args, env: { ...process.env, ...rest.env } })
  const processes = new Map<string, SessionProcess>()
  /** Sessions whose process is ending. Two processes of one session would write the same file. */
  const ending = new Map<string, Promise<void>>()
  /** Sessions whose process is starting. */
  const opening = new Map<string, Promise<SessionProcess>>()
  /** Sessions that Claude Code knows, so that they can be resumed. */
  const begun = new Set<string>()
  /** Runs that were aborted. */
  const canceled = new WeakSet<LocalRun>()
  /** Copies that Claude Code makes with their first prompt. */
  const forks = new Map<string, Fork>()
  const checklists = createChecklists()
  const transcripts = createTranscripts({ ...process.env, ...rest.env })
  const answers = new Map<string, (error: string | undefined, value: unknown) => void>()
  /** Processes that only list models and commands. */
  const listing = new Set<JsonProgram>()
  let isClosed = false
  const agent = createLocalAgent({
    name: command,
    redact,
    clock,
    start: () => requireCommand({ ...rest, command, cwd }),
    create: ({ directory = cwd }) => ({ sessionID: randomUUID(), directory }),
    find: async ({ sessionID, directory = cwd }) => {
      if (!isUUID(sessionID)) return undefined
      const found = transcripts.exist() ? await transcripts.find(sessionID) : { sessionID }
      if (found) begun.add(sessionID)
      return found && { directory, ...found }
    },
    capabilities: () => ({ canRead: transcripts.exist(), keepsPromptIDs: true, nextMessageID: randomUUID }),
    read: async ({ sessionID }, history) => {
      // A copy without a turn has no transcript yet.
      const { originalID = sessionID, end } = (begun.has(sessionID) ? undefined : forks.get(sessionID)) ?? {}
      await transcripts.read(originalID, history, checklists.of(sessionID), end?.answerID)
    },
    sessions: async ({ directory = cwd, everywhere, since }) =>
      await transcripts.list({ directory: everywhere ? undefined : directory, since }),
    fork: async ({ sessionID, directory }, messageID) => {
      const copyID = randomUUID()
      const copied = await forkOf(sessionID, messageID)
      if (copied) forks.set(copyID, copied)
      return { sessionID: copyID, directory }
    },
    prompt: async (run, prompt) => {
      const content = await promptBlocks(command, prompt)
      const { program, writer, stopIdleTimer, startIdleTimer } =
        processes.get(run.sessionID) ?? (await openProcess(run))
      // Aborted while its files were read, while the process was starting, or while an earlier one was ending.
      if (canceled.has(run)) run.end({ type: 'aborted' })
      if (!run.isOpen()) return writer.isBusy() ? undefined : startIdleTimer()
      stopIdleTimer()
      const uuid = isUUID(run.promptID) ? run.promptID : randomUUID()
      writer.expectTurn(run, uuid)
      const message = { role: 'user', content }
      await program.send({ type: 'user', uuid, message, parent_tool_use_id: null, session_id: run.sessionID })
    },
    cancel: async (run, aborted) => {
      canceled.add(run)
      const found = processOf(run)
      const task = found?.writer.taskOf(run)
      // Without a process, the prompt was not sent yet.
      if (!found) return run.end({ type: 'aborted' })
      // An interrupt stops all of the session's sub-agents. `stop_task` stops one, and Claude Code goes on after it.
      const request =
        task !== undefined && aborted.sessionID === run.sessionID
          ? { subtype: 'stop_task', task_id: task }
          : { subtype: 'interrupt' }
      await found.program.send({ type: 'control_request', request_id: randomUUID(), request })
    },
    kill: (run) => processOf(run)?.end(),
    models: async () =>
      (await readOffers()).models.map(({ value, displayName, supportedEffortLevels }) => {
        return { providerID: 'anthropic', modelID: value, name: displayName, variants: supportedEffortLevels }
      }),
    takes: async () => ['text', 'image', 'pdf'],
    commands: async () => (await readOffers()).commands,
    close: () => {
      isClosed = true
      for (const { program } of processes.values()) void program.close()
      for (const program of listing) void program.close()
    },
  })
  return agent.source

  /** Returns the process of the session or, for a sub-agent at any depth, of its root. Undefined if none runs. */
  function processOf({ sessionID }: Pick<SessionInfo, 'sessionID'>): SessionProcess | undefined {
    const parentID = agent.session(sessionID)?.parentID
    return processes.get(sessionID) ?? (parentID === undefined ? undefined : processOf({ sessionID: parentID }))
  }

  /** Resolves with the session's process: the one that is starting, or else a new one. Rejects if it can't be started. */
  async function openProcess(run: LocalRun): Promise<SessionProcess> {
    const { sessionID } = run
    const opened = opening.get(sessionID) ?? startSession(run).finally(() => opening.delete(sessionID))
    opening.set(sessionID, opened)
    return await opened
  }

  /**
   * Starts the session's process, after an earlier one has ended. Resumes the session if Claude Code knows it, copies
   * one if it is a copy, and otherwise begins it. Rejects if it can't be started.
   */
  async function startSession({ sessionID, directory }: LocalRun): Promise<SessionProcess> {
    await ending.get(sessionID)
    const copyArguments = begun.has(sessionID) ? [] : await argumentsOfCopy(forks.get(sessionID))
    const sessionArguments = begun.has(sessionID)
      ? ['--resume', sessionID]
      : [...copyArguments, '--session-id', sessionID]
    const respond = async (requestID: string, response: object): Promise<void> => {
      const answer = { subtype: 'success', request_id: requestID, response }
      await opened?.program.send({ type: 'control_response', response: answer })
    }
    const wake = (reason: string): LocalRun => agent.wake({ sessionID, directory }, reason)
    const writer = createSessionWriter(checklists.of(sessionID), () => clock.now(), respond, wake)
    // Only a session that Claude Code has started can be resumed.
    const takeEvent = (event: ClaudeEvent, value: unknown): void => {
      // The session's next run must not get what the old process still says.
      if (isEnding) return
      if (event.type === 'turn') begun.add(sessionID)
      writer.write(event, value)
      if (writer.isBusy()) stopIdleTimer()
      else startIdleTimer()
    }
    let stopIdleTimer = (): void => {}
    let opened: SessionProcess | undefined
    let isEnding = false
    const program = await startClaude(sessionArguments, directory, takeEvent, (message) => {
      stopIdleTimer()
      if (processes.get(sessionID)?.writer === writer) processes.delete(sessionID)
      writer.failAll(message)
    })
    const own: SessionProcess = { program, writer, stopIdleTimer: () => stopIdleTimer(), startIdleTimer, end }
    opened = own
    processes.set(sessionID, own)
    if (isClosed) void program.close()
    return own

    /** Arms the timer that ends the process after `idleMs`. Stops an earlier one. */
    function startIdleTimer(): void {
      stopIdleTimer()
      stopIdleTimer = clock.after(idleMs, end)
    }

    /** Ends the process. The next prompt waits for its end. Does nothing if it is ending. */
    function end(): void {
      stopIdleTimer()
      if (processes.get(sessionID) !== opened) return
      isEnding = true
      processes.delete(sessionID)
      ending.set(
        sessionID,
        program.close().finally(() => ending.delete(sessionID)),
      )
    }
  }

  /**
   * Returns what a copy of the session copies, whole or up to before the prompt with this id. Undefined for an empty
   * copy: of a session without a turn, which Claude Code doesn't know, or up to before its first prompt. Rejects with
   * `gone` if no prompt has the id, and with `unsupported` for a part of a session without transcripts.
   */
  async function forkOf(sessionID: string, messageID: string | undefined): Promise<Fork | undefined> {
    const earlier = begun.has(sessionID) ? undefined : forks.get(sessionID)
    const originalID = begun.has(sessionID) ? sessionID : earlier?.originalID
    if (messageID === undefined)
      return originalID === undefined || earlier ? earlier : { originalID, end: await transcripts.endOf(originalID) }
    if (!transcripts.exist())
      throw new ReplyError(
        'unsupported',
        `${command} can only copy a whole session, because it keeps no transcripts on this computer. Leave the message out.`,
      )
    const end = originalID === undefined ? undefined : await transcripts.endOf(originalID, messageID)
    if (end && originalID !== undefined) return end.answerID === undefined ? undefined : { originalID, end }
    throw new ReplyError(
      'gone',
      `No turn of session ${sessionID} began with the message ${messageID}. Name another one.`,
    )
  }

  /** Returns the arguments that begin a session as this copy. Empty without one. */
  async function argumentsOfCopy(copied: Fork | undefined): Promise<readonly string[]> {
    if (!copied) return []
    const { originalID, end } = copied
    const whole = ['--resume', originalID, '--fork-session']
    if (end?.answerID === undefined || end.lastID === (await transcripts.endOf(originalID))?.lastID) return whole
    return [...whole, '--resume-session-at', end.answerID]
  }

  /**
   * Starts Claude Code with these arguments for a session. `onEvent` gets its events with their lines, and `onEnd` how it
   * ended. Answers to our requests and requests of unknown kinds are handled here. Rejects if it can't be started.
   */
  async function startClaude(
    sessionArguments: readonly string[],
    directory: string | undefined,
    onEvent: (event: ClaudeEvent, value: unknown) => void,
    onEnd: (message: string) => void,
  ): Promise<JsonProgram> {
    const chosen = model === undefined ? [] : ['--model', model]
    const program = await startJsonProgram({
      ...rest,
      env: { ...unsetDefaults(), ...rest.env },
      command,
      cwd: directory ?? cwd,
      args: [...protocolArgs, ...sessionArguments, ...chosen, ...args],
      onError,
      onMessage: (value) => {
        for (const event of decodeClaude(value)) {
          if (event.type === 'response') answers.get(event.requestID)?.(event.error, event.value)
          else if (event.type === 'unknown-request') refuseUnknown(event)
          else onEvent(event, value)
        }
      },
      onEnd: ({ code, signal }, last) => {
        onEnd(`${command} ended with ${code === undefined ? signal : `code ${code}`}${last === '' ? '.' : `: ${last}`}`)
      },
    })
    return program

    /** Reports a request of an unknown kind, and answers it with an error. */
    function refuseUnknown({ requestID, subtype }: Extract<ClaudeEvent, { readonly type: 'unknown-request' }>): void {
      const error = `"${subtype}" is not supported.`
      onError(
        new ReplyError(
          'unsupported',
          `${command} sent the request "${subtype}", which is not supported. It was refused.`,
        ),
      )
      const response = { subtype: 'error', request_id: requestID, error }
      program.send({ type: 'control_response', response }).catch(() => {})
    }
  }

  /**
   * Returns the models and commands. Starts a separate process for that, and ends it. Rejects with `unreachable` after
   * `deadlineMs`, and with `refused` if the process ends or answers with an error.
   */
  async function readOffers(): Promise<ReturnType<typeof offersIn>> {
    const requestID = randomUUID()
    let program: JsonProgram | undefined
    let stop = (): void => {}
    let isDone = false
    try {
      const answered = new Promise<unknown>((resolve, reject) => {
        const fail = (message: string): void => reject(new ReplyError('refused', redact(message)))
        answers.set(requestID, (error, value) => (error === undefined ? resolve(value) : fail(error)))
        const unanswered = `${command} did not list its models and commands within ${deadlineMs} ms. Raise deadlineMs if it needs longer.`
        stop = clock.after(deadlineMs, () => reject(new ReplyError('unreachable', unanswered)))
        startClaude([], cwd, () => {}, fail)
          .then((begun) => {
            program = begun
            listing.add(begun)
            if (isClosed || isDone) void begun.close()
            const request = { subtype: 'initialize', hooks: {} }
            return begun.send({ type: 'control_request', request_id: requestID, request })
          })
          .catch(reject)
      })
      return offersIn(await answered)
    } finally {
      isDone = true
      stop()
      answers.delete(requestID)
      if (program) listing.delete(program)
      void program?.close()
    }
  }
}
