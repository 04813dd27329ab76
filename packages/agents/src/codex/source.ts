import { randomUUID } from 'node:crypto'
import { type Clock, type OnError, ReplyError, systemClock } from '@reply/core'
import { createSecretFilter } from '@reply/core/internal'
import { createLocalAgent, type LocalRun, type SessionInfo, type SessionQuery, type Source } from '@reply/core/source'
import { type JsonProgram, startJsonProgram } from '../process/json-program.ts'
import { createRpc } from '../process/json-rpc.ts'
import type { ProcessOptions } from '../process/start-process.ts'
import { toAsk } from './ask.ts'
import { type CodexNotice, decodeCodex } from './decode/notification.ts'
import { decodeRequest, decodeRpc, modelsIn } from './decode/request.ts'
import { type CodexTurn, sessionIn, sessionsIn, turnIn, turnsIn } from './decode/thread.ts'
import { addTurns, promptIDOf } from './history.ts'
import { promptItems } from './prompt.ts'
import { createRunWriter } from './run-writer.ts'
import { createTurns } from './turns.ts'

/** The options of `codex`. */
export interface CodexOptions extends Omit<ProcessOptions, 'command' | 'args' | 'signal'> {
  /** The program: a path, or a name in `PATH`. Default `codex`. */
  readonly command?: string | undefined
  /** Arguments after `app-server`, for example `['-c', 'model_provider="mine"']`. Default: none. */
  readonly args?: readonly string[] | undefined
  /** The model. Default: Codex's own. */
  readonly model?: string | undefined
  /** When Codex asks for approval. Default: as Codex is configured. */
  readonly approvalPolicy?: 'on-request' | 'never' | undefined
  /** What its commands may do without approval. Default: as Codex is configured. */
  readonly sandbox?: 'read-only' | 'workspace-write' | 'danger-full-access' | undefined
  /** How long Codex may take to answer a request, in ms. Turns have no limit. Default 60,000. */
  readonly deadlineMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
  /** Receives errors that stop nothing, for example lines that can't be read. Default: ignored. */
  readonly onError?: OnError | undefined
}

/** How many turns of an earlier session are read. The core keeps the last three runs of a session. */
const mostRead = 4

/** Threads of the terminal, of editors, of `codex exec` and of programs. Sub-agents have others. */
const sourceKinds = ['cli', 'vscode', 'exec', 'appServer']

/**
 * Codex as a source: one `codex app-server` for all sessions, which are its threads. Approvals and questions become
 * asks. An abort interrupts the turn. Sub-agents go on after the run that started them. A turn that Codex begins by itself
 * is a run without a prompt. The id of an earlier session resumes it. Tested with 0.150.0 and 0.169.0.
 */
export function codex(options: CodexOptions = {}): Source {
  const { command = 'codex', args = [], cwd = process.cwd(), onError = () => {}, ...rest } = options
  const { model, approvalPolicy, sandbox, deadlineMs = 60_000, clock = systemClock, ...child } = rest
  const chosen = { ...(model && { model }), ...(approvalPolicy && { approvalPolicy }), ...(sandbox && { sandbox }) }
  const redact = createSecretFilter({ args, env: { ...process.env, ...child.env } })
  /** The threads that are open in the process. */
  const threads = new Set<string>()
  /** Runs that were aborted before their turn had an id. */
  const aborted = new WeakSet<LocalRun>()
  /** Turns that were told to stop. */
  const interrupted = new Set<string>()
  let program: JsonProgram | undefined
  let isClosed = false
  /** Identifies the process in ask ids, because each process numbers its requests from 0. */
  let processID = ''
  const rpc = createRpc({ name: command, program: running, clock, redact, deadlineMs })
  const agent = createLocalAgent({
    name: command,
    redact,
    clock,
    start,
    create: async ({ directory = cwd }) => {
      const { sessionID } = sessionIn(await rpc.request('thread/start', { cwd: directory, ...chosen }))
      threads.add(sessionID)
      return { sessionID, directory }
    },
    find: async ({ sessionID }) => {
      try {
        return await resume(sessionID)
      } catch (error) {
        // Codex has one error for a missing thread and for one that can't be read.
        if (error instanceof ReplyError && error.type === 'refused') return undefined
        throw error
      }
    },
    prompt: async (run, prompt) => {
      const input = await promptItems(command, prompt)
      if (!threads.has(run.sessionID)) await resume(run.sessionID)
      if (aborted.has(run)) return run.end({ type: 'aborted' })
      turns.expect(run)
      try {
        const params = { threadId: run.sessionID, input, clientUserMessageId: run.promptID }
        turns.confirm(run, turnIn(await begin(run, params)))
      } catch (error) {
        turns.confirm(run)
        throw error
      }
      if (aborted.has(run)) await interrupt(run)
    },
    cancel: async (run) => {
      aborted.add(run)
      await interrupt(run)
    },
    read: async ({ sessionID }, history) => {
      await addTurns(sessionID, history, writer, async (threadId) => (await listTurns(threadId, mostRead)).toReversed())
    },
    sessions: listSessions,
    fork: async ({ sessionID }, messageID) => {
      const before = messageID === undefined ? undefined : await turnBegunBy(sessionID, messageID)
      const params = { threadId: sessionID, excludeTurns: true, ...(before && { beforeTurnId: before }), ...chosen }
      const copy = sessionIn(await rpc.request('thread/fork', params))
      threads.add(copy.sessionID)
      return copy
    },
    // Codex keeps the id of a prompt as that of its client. A running turn takes further prompts after its current step.
    capabilities: () => ({ keepsPromptIDs: true, takesPromptsWhileBusy: true }),
    // All its threads end with it. It restarts for the next prompt.
    kill: () => void program?.close(),
    models: async () =>
      modelsIn(await rpc.request('model/list', {})).map(
        ({ model: modelID, displayName, supportedReasoningEfforts }) => {
          const variants = supportedReasoningEfforts.map(({ reasoningEffort }) => reasoningEffort)
          return { providerID: 'openai', modelID, name: displayName, variants }
        },
      ),
    close: () => {
      isClosed = true
      void program?.close()
    },
  })
  const writer = createRunWriter(() => clock.now())
  const turns = createTurns(
    writer,
    (threadID) => threads.has(threadID),
    (sessionID, reason) => agent.wake({ sessionID, directory: agent.session(sessionID)?.directory }, reason),
  )
  return agent.source

  /** Interrupts the turn of the run, once, also if several runs wait for it. */
  async function interrupt(run: LocalRun): Promise<void> {
    const turnId = turns.turnOf(run)
    if (turnId === undefined || interrupted.has(turnId)) return
    interrupted.add(turnId)
    await rpc.request('turn/interrupt', { threadId: run.sessionID, turnId })
  }

  /** An unconfirmed turn might start later unnoticed, so its run fails and Codex is ended. */
  async function begin(run: LocalRun, params: object): Promise<unknown> {
    const asked = program
    try {
      return await rpc.request('turn/start', params)
    } catch (error) {
      if (error instanceof ReplyError && error.type === 'unreachable') {
        run.end({ type: 'failed', error: { name: error.type, message: error.message, raw: undefined } })
        void asked?.close()
      }
      throw error
    }
  }

  function running(): JsonProgram {
    if (program) return program
    throw new ReplyError('unreachable', `${command} is not running. It restarts with the next connection.`)
  }

  /** Opens an earlier thread in the process. */
  async function resume(threadId: string): Promise<SessionInfo> {
    const found = sessionIn(await rpc.request('thread/resume', { threadId, excludeTurns: true, ...chosen }))
    threads.add(threadId)
    return found
  }

  /** Lists the root threads, newest first, as far as the query reaches. */
  async function listSessions({ directory, everywhere, since = 0 }: SessionQuery): Promise<readonly SessionInfo[]> {
    const found: SessionInfo[] = []
    let cursor: string | undefined
    do {
      const params = { sortKey: 'updated_at', modelProviders: [], sourceKinds, limit: 100, cursor }
      const where = everywhere ? {} : { cwd: directory ?? cwd }
      const page = sessionsIn(await rpc.request('thread/list', { ...params, ...where }))
      const recent = page.items.filter(({ updatedAt = since }) => updatedAt >= since)
      found.push(...recent)
      cursor = recent.length < page.items.length ? undefined : page.next
    } while (cursor !== undefined)
    return found
  }

  /** Lists the turns of a thread, newest first, this many at most. */
  async function listTurns(threadId: string, most: number): Promise<readonly CodexTurn[]> {
    const found: CodexTurn[] = []
    let cursor: string | undefined
    do {
      const limit = Math.min(most - found.length, 100)
      const params = { threadId, itemsView: 'full', sortDirection: 'desc', limit, cursor }
      const page = turnsIn(await rpc.request('thread/turns/list', params))
      found.push(...page.items)
      cursor = found.length < most ? page.next : undefined
    } while (cursor !== undefined)
    return found
  }

  /** Returns the turn that this prompt began. Rejects with `gone` if there is none. */
  async function turnBegunBy(threadId: string, messageID: string): Promise<string> {
    const begun = (await listTurns(threadId, Number.POSITIVE_INFINITY)).find((turn) => promptIDOf(turn) === messageID)
    if (begun) return begun.id
    throw new ReplyError(
      'gone',
      `No turn of session ${threadId} began with the message ${messageID}. Name another one.`,
    )
  }

  async function start(): Promise<void> {
    threads.clear()
    turns.clear()
    interrupted.clear()
    processID = randomUUID()
    const mine = await startJsonProgram({
      ...child,
      command,
      cwd,
      args: ['app-server', ...args],
      onError,
      onLine,
      // A process that was given up may end after the next one has started.
      onEnd: (exit, last) => {
        if (program === mine) onEnd(exit, last)
      },
    })
    program = mine
    if (isClosed) return void mine.close()
    try {
      const clientInfo = { name: 'reply', title: 'reply', version: '0.1.0' }
      await rpc.request('initialize', { clientInfo, capabilities: { experimentalApi: true } })
      await rpc.notify('initialized')
    } catch (error) {
      if (program === mine) program = undefined
      await mine.close()
      throw error
    }
  }

  function onLine(value: unknown): void {
    const message = decodeRpc(value)
    if (message?.type === 'response') return rpc.take(message)
    if (message?.type === 'notification') onNotice(decodeCodex(message.method, message.params), value)
    if (message?.type !== 'request') return
    const { id, method, params } = message
    const asked = decodeRequest(method, params)
    const ask = asked && toAsk(askID(id), asked, (result) => rpc.respond(id, result))
    if (ask && turns.ask(asked.threadID, asked.turnID, ask)) return
    onError(
      new ReplyError('unsupported', `${command} sent the request ${method}, which is not supported. It was refused.`),
    )
    rpc.refuse(id, method).catch(() => {})
  }

  function onNotice(notice: CodexNotice | undefined, value: unknown): void {
    switch (notice?.type) {
      case undefined:
        return
      case 'event':
        return turns.write(notice.event, value)
      case 'ask-gone':
        return turns.closeAsk(notice.threadID, askID(notice.requestID))
      case 'goal':
        return turns.setGoal(notice.threadID, notice.objective)
      default:
        return notice satisfies never
    }
  }

  function askID(id: string | number): string {
    return `${processID}.${id}`
  }

  function onEnd(
    { code, signal }: { readonly code?: number | undefined; readonly signal?: string | undefined },
    last: string,
  ): void {
    program = undefined
    const how = `${command} ended with ${code === undefined ? signal : `code ${code}`}`
    const error = new ReplyError('unreachable', last === '' ? `${how}. Run it by hand to see why.` : `${how}: ${last}`)
    rpc.end(error)
    agent.fail(error)
  }
}
