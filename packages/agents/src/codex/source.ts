import { randomUUID } from 'node:crypto'
import { type Clock, type OnError, ReplyError, systemClock } from '@reply/core'
import { createSecretFilter } from '@reply/core/internal'
import {
  type ConnectionOptions,
  createLocalAgent,
  type Following,
  type LocalAsk,
  type LocalEnding,
  type LocalRun,
  type SessionInfo,
  type SessionQuery,
  type Source,
  type SourcePrompt,
  takesOf,
} from '@reply/core/source'
import { type JsonProgram, startJsonProgram } from '../process/json-program.ts'
import { createRpc } from '../process/json-rpc.ts'
import { openJsonSocket, withoutSecrets } from '../process/json-socket.ts'
import type { ProcessOptions } from '../process/start-process.ts'
import { createAsks } from './ask.ts'
import { pictureOfFile } from './decode/content.ts'
import { type CodexEvent, type CodexNotice, decodeNotification, sentAtIn } from './decode/notification.ts'
import { type CodexModel, type CodexRequest, decodeRequest, decodeRpc, modelsIn } from './decode/request.ts'
import { settingsIn } from './decode/settings.ts'
import {
  type CodexTurn,
  isWaitingIn,
  sessionIn,
  sessionsIn,
  threadIDOf,
  threadIDsIn,
  turnIDIn,
  turnsIn,
  turnsOfResumed,
} from './decode/thread.ts'
import { addTurns, eventsIn, eventsSoFar, goesOn, promptIDOf, turnSoFar } from './history.ts'
import { type PromptItem, promptItems } from './prompt.ts'
import { type CodexOutput, createRunWriter } from './run-writer.ts'
import { createThreadSettings } from './thread-settings.ts'
import { createTurns, isSilent } from './turns.ts'

/** The options of `codex`. */
export interface CodexOptions extends Omit<ProcessOptions, 'command' | 'args' | 'signal'> {
  /** The program: a path, or a name in `PATH`. Default `codex`. */
  readonly command?: string | undefined
  /** Arguments after `app-server`, for example `['-c', 'model_provider="mine"']`. Default: none. */
  readonly args?: readonly string[] | undefined
  /**
   * The address of a running `codex app-server --listen`, for example `ws://127.0.0.1:4500`. Nothing is started then,
   * and turns that other clients begin are shown too. Not together with `command`, `args`, `env` and `graceMs`.
   * Default: none.
   */
  readonly url?: string | undefined
  /** The token of that listener, as in its `--ws-token-file`. Default: none. */
  readonly token?: string | undefined
  /**
   * Awaited right before each message is sent that changes something: a new or copied session, a prompt, an answer, a stop. If it
   * rejects, the message is not sent, and the call rejects with its error. It runs in the async context of that call.
   * Default: all messages are sent immediately.
   */
  readonly beforeChange?: (() => Promise<void>) | undefined
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

/** How many turns are looked through at most for those that a lost connection missed. */
const mostMissed = 100

/** The requests that change something. */
const changing: ReadonlySet<string> = new Set([
  'thread/start',
  'thread/fork',
  'thread/settings/update',
  'turn/start',
  'turn/interrupt',
])

/** Threads of the terminal, of editors, of `codex exec` and of programs. Sub-agents have others. */
const sourceKinds = ['cli', 'vscode', 'exec', 'appServer']

/**
 * Codex as a source: one `codex app-server` for all sessions, which are its threads, or a running one by its `url`.
 * Approvals, questions and forms of MCP servers become asks. Requests of other kinds are refused and reported. An abort
 * interrupts the turn. Sub-agents go on after the run that started them. A turn that Codex begins by itself is a run
 * without a prompt. The id of an earlier session resumes it. Starts nothing before its first connection. Throws
 * `invalid` for options that contradict each other. Tested with 0.150.0 and 0.169.0.
 */
export function codex(options: CodexOptions = {}): Source {
  const { command = 'codex', args = [], url, token, beforeChange, onError = () => {}, ...rest } = options
  checkListener(options)
  // A listener has a folder of its own.
  const { cwd = url === undefined ? process.cwd() : undefined } = options
  const name = url === undefined ? command : withoutSecrets(url)
  const { cwd: _, model, approvalPolicy, sandbox, deadlineMs = 60_000, clock = systemClock, ...child } = rest
  const chosen = { ...(model && { model }), ...(approvalPolicy && { approvalPolicy }), ...(sandbox && { sandbox }) }
  const redact = createSecretFilter({ args, env: { ...process.env, ...child.env, CODEX_TOKEN: token } })
  /** The threads that are open in the process. */
  const threads = new Set<string>()
  /** Runs that were aborted before their turn had an id. */
  const aborted = new WeakSet<LocalRun>()
  /** The turns before those that a thread is followed for. */
  const resumed = new Map<string, readonly CodexTurn[]>()
  /** The turns that went on when their thread was followed. */
  const joined = new Set<string>()
  /** The last turn of each thread that was read or seen. Undefined if the thread had none. */
  const newestTurns = new Map<string, string | undefined>()
  /** Threads that were open when the connection to a listener was lost, and have not been read again. */
  const lost = new Set<string>()
  /** The sessions that the client of a listener follows. Undefined before the first connection. */
  let following: Following | undefined
  /** Whether all threads that the listener has open are followed. */
  let hasAll = false
  /** Threads of a listener that were read, and whose messages don't come since then. */
  const left = new Set<string>()
  /** Threads of a listener that are being opened or followed. Never rejects. */
  const opening = new Map<string, Promise<unknown>>()
  /** Threads that are read, or whose picture is, with what came of them since then. */
  const heldMessages = new Map<string, unknown[]>()
  /** Resolves when the last prompt of a thread was taken or refused, and its model taken back. */
  const sending = new Map<string, Promise<void>>()
  let program: Pick<JsonProgram, 'send' | 'close'> | undefined
  let isClosed = false
  /** Identifies the connection in the ids of asks that belong to no turn, because each process numbers its requests from 0. */
  let connectionID = ''
  /** The asks that this connection has shown, by the ids of Codex's requests. */
  const asked = new Map<string, ShownAsk>()
  /** Asks of a connection that was lost, by their ids. Codex repeats their requests if it still waits for them. */
  const unrepeated = new Map<string, ShownAsk>()
  /** Answers that the listener has not confirmed, by the ids of Codex's requests. */
  const unconfirmed = new Map<string, { readonly confirm: () => void; readonly fail: (error: ReplyError) => void }>()
  const beforeSend =
    beforeChange &&
    (async (method: string | undefined) => {
      if (method === undefined || changing.has(method)) await beforeChange()
    })
  const rpc = createRpc({ name, program: requireProgram, clock, redact, deadlineMs, beforeSend })
  const agent = createLocalAgent({
    name,
    redact,
    clock,
    start,
    create: async ({ directory = cwd }) => {
      const opened = await ask('thread/start', { cwd: directory, ...chosen }, openedIn)
      newestTurns.set(opened.sessionID, undefined)
      return { sessionID: opened.sessionID, directory: directory ?? opened.directory }
    },
    find: async ({ sessionID }) => {
      try {
        return await openSession(sessionID)
      } catch (error) {
        // Codex has one error for a missing thread and for one that can't be read.
        if (error instanceof ReplyError && error.type === 'refused') return undefined
        throw error
      }
    },
    refresh: async (sessionID) => {
      if (left.has(sessionID)) await openThread(sessionID)
    },
    prompt: async (run, prompt) => {
      const input = await promptItems(name, prompt)
      await sendPrompt(run, prompt, input)
      if (aborted.has(run)) await interrupt(run)
    },
    cancel: async (run) => {
      aborted.add(run)
      await interrupt(run)
    },
    read: async ({ sessionID }, history) => {
      const turnsOf = async (threadId: string) => {
        const known = resumed.get(threadId)
        const found = known?.toReversed() ?? (await listTurns(threadId, mostRead))
        const newestAt = threadId === sessionID ? found.findIndex(({ id }) => id === newestTurns.get(threadId)) : -1
        newestTurns.set(threadId, found[0]?.id)
        return (newestAt === -1 ? found : found.slice(0, newestAt)).toReversed()
      }
      const write = async (run: LocalRun, event: CodexOutput) => writer.write(run, await withPicture(event), undefined)
      for (const open of await addTurns(sessionID, history, write, turnsOf)) turns.continueTurn(open)
    },
    sessions: listSessions,
    fork: async ({ sessionID }, messageID) => {
      const before = messageID === undefined ? undefined : await turnBegunBy(sessionID, messageID)
      const params = { threadId: sessionID, excludeTurns: true, ...(before && { beforeTurnId: before }), ...chosen }
      const copy = await ask('thread/fork', params, openedIn)
      // LocalAgent copies the log too, so the copy is never read.
      if (url !== undefined) newestTurns.set(copy.sessionID, (await listTurns(copy.sessionID, 1))[0]?.id)
      return copy
    },
    // Codex keeps the id of a prompt as that of its client. A running turn takes further prompts after its current step.
    capabilities: () => ({ keepsPromptIDs: true, takesPromptsWhileBusy: true }),
    // All its threads end with it. It restarts for the next prompt. A listener belongs to other clients, too.
    kill: url === undefined ? () => void program?.close() : undefined,
    models: async () => (await listModels()).map(({ info }) => info),
    takes: async (target) => {
      const all = await listModels()
      const modelID = target.model?.modelID ?? settings.modelOf(target.sessionID ?? '') ?? model
      // Codex lists models without their providers.
      const found = all.find(({ info, isDefault }) => (modelID === undefined ? isDefault : info.modelID === modelID))
      const infos = all.map(({ info }) => info)
      return takesOf(infos, found?.info) ?? ['text', 'image']
    },
    close: () => {
      isClosed = true
      void program?.close()
    },
  })
  const writer = createRunWriter(() => clock.now())
  const asks = createAsks(writer)
  const settings = createThreadSettings(name, async (params) => await rpc.request('thread/settings/update', params))
  const turns = createTurns(
    writer,
    (threadID) => threads.has(threadID),
    (sessionID, cause) => agent.wake({ sessionID, directory: agent.session(sessionID)?.directory }, cause),
  )
  // A listener may start later, so prompts wait for it.
  return url === undefined ? agent.source : { ...agent.source, isLocal: false, connect, working }

  /** Opens a connection. Unless all sessions are followed, also disconnects from the listener when it ends. */
  async function* connect(connection: ConnectionOptions): ReturnType<Source['connect']> {
    following = connection.following
    following?.onAdded((added) => {
      // A turn may have begun between the read of a session and this.
      for (const { sessionID } of added) if (left.has(sessionID)) void follow(sessionID)
      return []
    })
    try {
      yield* agent.source.connect(connection)
    } finally {
      if (connection.signal.aborted && !isEveryFollowed()) disconnect()
    }
  }

  /** Ends the connection to the listener. The next call that needs it connects again. */
  function disconnect(): void {
    const ended = program
    if (!ended) return
    handleEnd(undefined, '')
    void ended.close()
  }

  /** Returns what works. If all sessions are followed now, first opens the threads that the listener has open. */
  async function working(directory: string | undefined): ReturnType<Source['working']> {
    const known = await agent.source.working(directory)
    if (hasAll || !isEveryFollowed() || !program) return known
    const agents = new Set(turns.agentThreads())
    for (const threadID of await ask('thread/loaded/list', {}, threadIDsIn))
      if (!threads.has(threadID) && !agents.has(threadID)) await openLoaded(threadID)
    hasAll = true
    return await agent.source.working(directory)
  }

  /** Opens a thread that the listener has open. Does nothing for a sub-agent's, and for one without a turn, which can't be opened. */
  async function openLoaded(threadID: string): Promise<void> {
    try {
      if ((await readThread(threadID)).parentID === undefined) await openThread(threadID)
    } catch (error) {
      if (!(error instanceof ReplyError && error.type === 'refused')) throw error
    }
  }

  /** Whether the client follows all sessions. */
  function isEveryFollowed(): boolean {
    return following === undefined || following.isEvery()
  }

  /** Whether the messages of a thread are needed: its session is followed, or something of this client goes on in it. */
  function isNeeded(threadID: string): boolean {
    if (isEveryFollowed() || following?.includes(threadID) || sending.has(threadID)) return true
    return agent.run(threadID) !== undefined || turns.openTurns(threadID).length > 0
  }

  /** Whether a thread is open whose messages are not needed any more. */
  function isUnneeded(threadID: string): boolean {
    return url !== undefined && threads.has(threadID) && !isNeeded(threadID)
  }

  /**
   * Opens a thread of a listener whose messages don't come, and reads what this client has not read of it. Its turn that goes on
   * becomes the current run. Does nothing for a thread that is open. Rejects with `refused` if Codex can't open it.
   */
  async function openThread(threadID: string): Promise<SessionInfo> {
    while (opening.has(threadID)) await opening.get(threadID)
    const known = threads.has(threadID) ? agent.session(threadID) : undefined
    return known ?? (await asOpening(threadID, openAndRead(threadID)))
  }

  /** Notes that a thread is being opened until the promise settles. */
  async function asOpening<T>(threadID: string, opened: Promise<T>): Promise<T> {
    opening.set(
      threadID,
      opened.then(
        () => opening.delete(threadID),
        () => opening.delete(threadID),
      ),
    )
    return await opened
  }

  /** Does what `openThread` does. */
  async function openAndRead(threadID: string): Promise<SessionInfo> {
    heldMessages.set(threadID, [])
    try {
      const found = agent.update(await readThread(threadID))
      const isWaiting = await ask('thread/resume', { threadId: threadID, excludeTurns: true }, (response) => {
        openedIn(response)
        return isWaitingIn(response)
      })
      left.delete(threadID)
      await agent.readAgain(threadID)
      if (isWaiting) await untilRequested(threadID)
      return found
    } finally {
      handleHeld(threadID)
    }
  }

  /**
   * Has Codex send no more of a thread whose messages are not needed. Codex still tells when it becomes active. A later call about
   * the session opens it again.
   */
  function leave(threadID: string): void {
    hasAll = false
    threads.delete(threadID)
    left.add(threadID)
    rpc.request('thread/unsubscribe', { threadId: threadID }).catch((cause: unknown) => {
      if (program && cause instanceof ReplyError) onError(cause)
    })
  }

  /**
   * Interrupts the turn of the run. Does nothing if it has no turn so far, or if the turn was interrupted before, also
   * for another run.
   */
  async function interrupt(run: LocalRun): Promise<void> {
    const turnId = turns.turnOf(run)
    if (turnId === undefined || turns.isStopping(turnId)) return
    turns.setStopping(turnId, true)
    try {
      await rpc.request('turn/interrupt', { threadId: run.sessionID, turnId })
    } catch (error) {
      // The next stop tries again.
      turns.setStopping(turnId, false)
      throw error
    }
  }

  /** Sends a request, and resolves with what `read` makes of the response. Rejects with `malformed` if `read` throws. */
  async function ask<T>(method: string, params: object, read: (response: unknown) => T): Promise<T> {
    const response = await rpc.request(method, params)
    try {
      return read(response)
    } catch {
      // The cause may quote the response.
      const cure = 'Update Codex, or report this with its version.'
      throw new ReplyError('malformed', `${name} answered ${method} in an unknown form. ${cure}`)
    }
  }

  /** Notes the thread that a response has opened, and returns it as a session. Throws if the response is malformed. */
  function openedIn(response: unknown): SessionInfo {
    const session = sessionIn(response)
    threads.add(session.sessionID)
    settings.opened(session.sessionID, settingsIn(response))
    return session
  }

  /**
   * Sends a prompt, for its model alone if it names one, once those before it in its thread were taken or refused. Ends the run
   * if it was aborted before. Rejects if Codex refuses it, or if the connection ends before it has named the turn.
   */
  async function sendPrompt(run: LocalRun, prompt: SourcePrompt, input: readonly PromptItem[]): Promise<void> {
    const { sessionID, promptID } = run
    const earlier = sending.get(sessionID)
    let resolveSent = (): void => {}
    const own = new Promise<void>((resolve) => {
      resolveSent = resolve
    })
    const sent = (): void => {
      if (sending.get(sessionID) === own) sending.delete(sessionID)
      resolveSent()
    }
    sending.set(sessionID, own)
    try {
      await earlier
      if (!threads.has(sessionID)) await openSession(sessionID)
      // The model of an earlier prompt could not be taken back.
      await settings.restore(sessionID)
      if (aborted.has(run)) return run.end({ type: 'aborted' })
      const fields = settings.set(sessionID, prompt, turns.currentTurn(sessionID))
      turns.expectTurn(run)
      const params = { threadId: sessionID, input, clientUserMessageId: promptID, ...fields }
      const turnID = await startTurn(run, params)
      settings.began(sessionID, turnID)
      turns.promptTaken(run, turnID)
    } catch (error) {
      turns.promptRefused(run)
      throw error
    } finally {
      // The prompt is taken without it.
      void settings.restore(sessionID).catch(reportUnrestored).finally(sent)
    }
  }

  /** Reports that a prompt's model stays in its thread until the next prompt. Does nothing if Codex has ended. */
  function reportUnrestored(cause: unknown): void {
    if (!program || !(cause instanceof ReplyError)) return
    const problem = "The model of a prompt stays until the next prompt, because the thread's own one could not be set"
    onError(new ReplyError(cause.type, `${problem}: ${cause.message}`, { cause }))
  }

  /**
   * Sends a run's prompt, and resolves with the turn that takes it. Rejects if Codex refuses it. If Codex does not answer, or in
   * an unknown form, the turn could go on unnoticed, so this also fails the run, and ends a Codex that was started here. A prompt
   * whose connection was lost is found by its id when the thread is read again.
   */
  async function startTurn(run: LocalRun, params: object): Promise<string> {
    const asked = program
    try {
      return await ask('turn/start', params, turnIDIn)
    } catch (error) {
      // The turn told of the prompt before the response.
      const taken = turns.turnOf(run)
      if (taken !== undefined) return taken
      if (url !== undefined && program !== asked) throw error
      if (error instanceof ReplyError && ['unreachable', 'malformed'].includes(error.type)) {
        run.end({ type: 'failed', error: { name: error.type, message: error.message, raw: undefined } })
        if (url === undefined) void asked?.close()
      }
      throw error
    }
  }

  /** Returns the program or connection. Throws `unreachable` if there is none. */
  function requireProgram(): Pick<JsonProgram, 'send'> {
    if (program) return program
    throw new ReplyError('unreachable', `${name} is not connected. The next connection starts it again.`)
  }

  /** Opens a thread that is not open. If not all are followed, others may work in it, so this also reads it. Rejects as `resume` does. */
  async function openSession(threadID: string): Promise<SessionInfo> {
    return url === undefined || isEveryFollowed() ? await resume(threadID) : await openThread(threadID)
  }

  /** Opens an earlier thread, and returns it as a session. Rejects with `refused` if Codex has none that it can read. */
  async function resume(threadId: string): Promise<SessionInfo> {
    // Other clients of a listener have chosen for themselves.
    const own = url === undefined ? chosen : {}
    return await ask('thread/resume', { threadId, excludeTurns: true, ...own }, openedIn)
  }

  /** Returns the root threads, newest first, back to `since` or all of them. Without a directory, those of `cwd`. */
  async function listSessions({ directory, everywhere, since = 0 }: SessionQuery): Promise<readonly SessionInfo[]> {
    const found: SessionInfo[] = []
    let cursor: string | undefined
    do {
      const params = { sortKey: 'updated_at', modelProviders: [], sourceKinds, limit: 100, cursor }
      const where = everywhere ? {} : { cwd: directory ?? cwd }
      const page = await ask('thread/list', { ...params, ...where }, sessionsIn)
      // Codex's times are whole seconds.
      const recent = page.items.filter(({ updatedAt = since }) => updatedAt + 999 >= since)
      found.push(...recent)
      cursor = recent.length < page.items.length ? undefined : page.next
    } while (cursor !== undefined)
    return found
  }

  /** Returns the models that Codex offers in its picker. */
  async function listModels(): Promise<readonly CodexModel[]> {
    const found: CodexModel[] = []
    let cursor: string | undefined
    do {
      const page = await ask('model/list', { cursor }, modelsIn)
      found.push(...page.items)
      cursor = page.next
    } while (cursor !== undefined)
    return found
  }

  /** Returns the turns of a thread, newest first, `maxCount` at most. */
  async function listTurns(threadId: string, maxCount: number): Promise<readonly CodexTurn[]> {
    const found: CodexTurn[] = []
    let cursor: string | undefined
    do {
      const limit = Math.min(maxCount - found.length, 100)
      const params = { threadId, itemsView: 'full', sortDirection: 'desc', limit, cursor }
      const page = await ask('thread/turns/list', params, turnsIn)
      found.push(...page.items)
      cursor = found.length < maxCount ? page.next : undefined
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

  /**
   * Starts Codex or connects to the listener, and greets it. For a listener, also follows its threads, and shows what the last
   * connection missed. Forgets what an earlier process had. Rejects if any of that fails, and closes what it opened then, as it
   * does if the source was closed meanwhile.
   */
  async function start(): Promise<void> {
    threads.clear()
    heldMessages.clear()
    asked.clear()
    hasAll = isEveryFollowed()
    for (const { sessionID, parentID } of [...newestTurns.keys()].flatMap((id) => agent.session(id) ?? []))
      if (url !== undefined && parentID === undefined && !isNeeded(sessionID)) left.add(sessionID)
    connectionID = randomUUID()
    if (url === undefined) turns.clear()
    const mine = await open(({ code, signal, last }) => {
      // A process that was given up may end after the next one has started.
      if (program === mine) handleEnd(code ?? signal, last)
    })
    program = mine
    if (isClosed) return void mine.close()
    try {
      const clientInfo = { name: 'reply', title: 'reply', version: '0.1.0' }
      await rpc.request('initialize', { clientInfo, capabilities: { experimentalApi: true } })
      await rpc.notify('initialized')
      if (url !== undefined) await followLoaded()
    } catch (error) {
      if (program === mine) program = undefined
      await mine.close()
      throw error
    }
  }

  /** Starts the program, or connects to the listener. `ended` is called once, when either has ended. */
  async function open(
    ended: (how: {
      readonly code?: number | undefined
      readonly signal?: string | undefined
      readonly last: string
    }) => void,
  ): Promise<Pick<JsonProgram, 'send' | 'close'>> {
    if (url !== undefined)
      return await openJsonSocket({
        url,
        token,
        deadlineMs,
        onError,
        onMessage: handleMessage,
        onEnd: () => ended({ last: '' }),
      })
    return await startJsonProgram({
      ...child,
      command,
      cwd: cwd ?? process.cwd(),
      args: ['app-server', ...args],
      onError,
      onMessage: handleMessage,
      onEnd: (exit, last) => ended({ ...exit, last }),
    })
  }

  /**
   * Follows the root threads that are open in the listener, and needed. Their turns that go on become the current runs, or continue those of
   * the last connection. Leaves out threads that Codex can't resume, because they have no turn. Rejects for other errors.
   */
  async function followLoaded(): Promise<void> {
    const loaded = new Set(await ask('thread/loaded/list', {}, threadIDsIn))
    for (const threadID of loaded) if (isNeeded(threadID)) await followThread(threadID, true)
    // Their process was restarted, or they were closed there.
    for (const threadID of lost) if (turns.openTurns(threadID).length > 0) await followThread(threadID, false)
    lost.clear()
    const read = new Set<string>()
    const nextAgent = (): string | undefined =>
      turns
        .agentThreads()
        .find((id) => !read.has(id) && ((loaded.has(id) && isNeeded(id)) || turns.openTurns(id).length > 0))
    // Each may have others below it.
    for (let threadID = nextAgent(); threadID !== undefined; threadID = nextAgent()) {
      const agentID = threadID
      read.add(agentID)
      await holding(agentID, loaded.has(agentID), async () => await readMissed(agentID, loaded.has(agentID)))
    }
    closeUnrepeated(() => true)
  }

  /** Follows a root thread. `isLoaded`: Codex had it open before. Does nothing for a sub-agent's. */
  async function followThread(threadID: string, isLoaded: boolean): Promise<void> {
    await holding(threadID, isLoaded, async () => {
      const found = await readThread(threadID)
      // The turns of a sub-agent belong to those of its parent.
      if (found.parentID !== undefined) return
      await readMissed(threadID, isLoaded, found)
    })
  }

  /** Holds the messages of a thread until `read` is done. If Codex refuses something, the turns of the thread don't go on. */
  async function holding(threadID: string, isLoaded: boolean, read: () => Promise<void>): Promise<void> {
    heldMessages.set(threadID, [])
    try {
      // Its first turn may have just begun.
      await (isLoaded && turns.openTurns(threadID).length > 0 ? onceStored(read) : read())
    } catch (error) {
      if (!(error instanceof ReplyError && error.type === 'refused')) throw error
      endRefused(threadID, error)
    } finally {
      handleHeld(threadID)
    }
  }

  /**
   * Ends the open turns of a thread that Codex refused to read or resume, because it was archived, or its process was killed before
   * it had stored the thread. Reports that. Does nothing without an open turn: a thread that has none is followed once it has one.
   */
  function endRefused(threadID: string, cause: ReplyError): void {
    const open = turns.openTurns(threadID)
    if (open.length === 0) return
    // Before the ends of their runs.
    closeUnrepeated((shown) => shown.threadID === threadID)
    for (const turnID of open) turns.catchUp(threadID, { turnID, events: [], ending: cutEnding })
    const problem = `Session ${threadID} can't be opened again after the lost connection, so its runs ended as failed`
    onError(new ReplyError('refused', `${problem}: ${cause.message}`, { cause }))
  }

  /**
   * Resumes a thread, which has Codex send its events and repeat its requests, and reads it. Shows what was missed if it was read
   * before, and closes the asks that Codex does not repeat. `session` unless it is a sub-agent's.
   */
  async function readMissed(threadID: string, isLoaded: boolean, session?: SessionInfo): Promise<void> {
    const isWaiting = await ask('thread/resume', { threadId: threadID, excludeTurns: true }, (response) => {
      if (session) openedIn(response)
      return isWaitingIn(response)
    })
    if (session) agent.update(session)
    const isUnread = session !== undefined && !newestTurns.has(threadID)
    if (isUnread) await agent.read(threadID)
    if (isWaiting) await untilRequested(threadID)
    if (isUnread) return
    // Its response comes after all requests that Codex repeats.
    const missed = await listMissed(threadID)
    const repeated = new Set((heldMessages.get(threadID) ?? []).flatMap(requestIDsIn))
    // Before the ends of their runs.
    closeUnrepeated((shown) => shown.threadID === threadID && !repeated.has(shown.requestID))
    for (const turn of missed) {
      const isCut =
        turn.status === 'interrupted' && !(isLoaded && turn.completedAt) && turns.openTurns(threadID).includes(turn.id)
      await showMissed(threadID, turn, isCut)
    }
    for (const turnID of turns.openTurns(threadID))
      if (!missed.some(({ id }) => id === turnID)) turns.catchUp(threadID, { turnID, events: [], ending: cutEnding })
  }

  /** Shows what was missed of a turn. `isCut`: it does not go on, and its end was not stored. */
  async function showMissed(threadID: string, turn: CodexTurn, isCut: boolean): Promise<void> {
    const { turnID, events, ending } = turnSoFar(threadID, turn, heldMessages.get(threadID) ?? [])
    const whole: CodexEvent[] = []
    for (const event of events) whole.push(await withPicture(event))
    turns.catchUp(threadID, { turnID, events: whole, ending: isCut ? cutEnding : ending })
    newestTurns.set(threadID, turn.id)
  }

  /** Returns the turns of a thread that were not seen to end, oldest first: those that were open, and those after the last known one. */
  async function listMissed(threadID: string): Promise<readonly CodexTurn[]> {
    const open = turns.openTurns(threadID)
    const newest = newestTurns.get(threadID)
    const isWhole = (found: readonly CodexTurn[]): boolean =>
      found.length < mostRead ||
      [...open, ...(newest === undefined ? [] : [newest])].every((id) => found.some((turn) => turn.id === id))
    const last = await listTurns(threadID, mostRead)
    const found = isWhole(last) ? last : await listTurns(threadID, mostMissed)
    const newestAt = newest === undefined ? found.length : found.findIndex(({ id }) => id === newest)
    return found.filter(({ id }, at) => open.includes(id) || at < newestAt).toReversed()
  }

  /** Closes the asks of a lost connection that Codex has not repeated, because they were answered or dropped meanwhile. */
  function closeUnrepeated(isOver: (ask: ShownAsk) => boolean): void {
    for (const [name, shown] of unrepeated) {
      if (!isOver(shown)) continue
      unrepeated.delete(name)
      turns.closeUnseenAsk(shown.threadID, { requestID: name, callID: shown.callID })
    }
  }

  /**
   * Follows a thread of another client, whose turn has begun. Shows that turn as a run, also if it is over before the thread is open.
   * `since` is when Codex told that the thread is active, in ms since the epoch by its clock: all turns that ended before were there
   * already. Does nothing without a listener, for a thread that is open already or not needed, and for a sub-agent's. Reports
   * errors, except for the end of the connection.
   */
  async function follow(threadID: string, since = Number.POSITIVE_INFINITY): Promise<void> {
    if (url === undefined || threads.has(threadID) || heldMessages.has(threadID)) return
    if (!isNeeded(threadID)) {
      hasAll = false
      return
    }
    await asOpening(threadID, followActive(threadID, since))
  }

  /** Does what `follow` does. */
  async function followActive(threadID: string, since: number): Promise<void> {
    heldMessages.set(threadID, [])
    try {
      const found = await readThread(threadID)
      // What a sub-agent asks is shown in a run of its parent, whose thread may be opened at this moment.
      if (found.parentID !== undefined) return void (await opening.get(found.parentID))
      const response = await onceStored(async () => await rpc.request('thread/resume', { threadId: threadID }))
      const resumedTurns = await withEnded(threadID, turnsOfResumed(response), since)
      const all = await Promise.all(resumedTurns.map(async (turn) => await withPrompt(threadID, turn)))
      openedIn(response)
      left.delete(threadID)
      agent.update(found)
      const newestAt = all.findIndex(({ id }) => id === newestTurns.get(threadID))
      const firstAt = all.findIndex((turn, at) => goesOn(turn) || (at > newestAt && isOpenSince(turn, since)))
      const past = firstAt === -1 ? all : all.slice(0, firstAt)
      resumed.set(threadID, past)
      await agent.readAgain(threadID)
      for (const turn of all.slice(past.length)) {
        newestTurns.set(threadID, turn.id)
        if (!goesOn(turn)) {
          await showMissed(threadID, turn, false)
          continue
        }
        joined.add(turn.id)
        for (const event of eventsSoFar(threadID, turn)) turns.write(await withPicture(event), turn)
      }
    } catch (error) {
      // The next connection follows the thread if it is needed then.
      if (!program || isClosed) return
      onError(error instanceof ReplyError ? error : new ReplyError('malformed', `A thread of ${name} can't be read.`))
    } finally {
      resumed.delete(threadID)
      handleHeld(threadID)
    }
  }

  /**
   * Returns the turns of a resumed thread, oldest first. If none went on at that time, the one that made the thread active is over, and
   * the response may have it without its end, or not at all: then adds it once Codex has stored it.
   */
  async function withEnded(
    threadID: string,
    known: readonly CodexTurn[],
    since: number,
  ): Promise<readonly CodexTurn[]> {
    if (since === Number.POSITIVE_INFINITY || known.some((turn) => isOpenSince(turn, since))) return known
    const ended = await whenStored(threadID, (stored) => {
      // The messages to come tell of turns that began after the response.
      const begun = (heldMessages.get(threadID) ?? []).flatMap(eventsIn).filter(({ type }) => type === 'turn')
      const found = stored.filter(
        (turn) => !goesOn(turn) && isOpenSince(turn, since) && !begun.some(({ turnID }) => turnID === turn.id),
      )
      return found.length === 0 ? undefined : found.toReversed()
    })
    return ended ? [...known.filter(({ id }) => !ended.some((turn) => turn.id === id)), ...ended] : known
  }

  /**
   * Returns a turn with the prompt that began it. Codex tells a turn's prompt before its thread is resumed, and may store it after. The
   * messages to come tell the rest.
   */
  async function withPrompt(threadID: string, turn: CodexTurn): Promise<CodexTurn> {
    if (!goesOn(turn) || turn.items.length > 0) return turn
    const found = await whenStored(threadID, (stored) =>
      stored.find(({ id, items }) => id === turn.id && items.length > 0),
    )
    return found && promptIDOf(found) !== undefined ? { ...turn, items: found.items.slice(0, 1) } : turn
  }

  /**
   * Returns what `pick` finds in the last turns of a thread, newest first, once Codex has stored it. Looks for two seconds at most, and
   * only once more when something waits to be shown: an ask is never late for the sake of what comes before it.
   */
  async function whenStored<T>(
    threadID: string,
    pick: (stored: readonly CodexTurn[]) => T | undefined,
  ): Promise<T | undefined> {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === mostAttempts || (heldMessages.get(threadID) ?? []).some(isToShow)
      const found = pick(
        await listTurns(threadID, mostRead).catch((error) => {
          if (error instanceof ReplyError && error.type === 'refused') return []
          throw error
        }),
      )
      if (found !== undefined || isLast) return found
      await betweenAttempts()
    }
  }

  /** Reads the picture that a call made, then shows the call with it. Holds the rest of the thread meanwhile. */
  async function writeWithPicture(event: CodexEvent, value: unknown): Promise<void> {
    heldMessages.set(event.threadID, [])
    const whole = await withPicture(event)
    turns.write(whole, value)
    handleHeld(event.threadID)
  }

  /** Adds the picture that Codex has to its call. Reports it if that can't be read. Returns other events as they are. */
  async function withPicture<Event extends CodexEvent>(event: Event): Promise<Event> {
    if (event.type !== 'call' || event.picturePath === undefined) return event
    try {
      const file = pictureOfFile(await rpc.request('fs/readFile', { path: event.picturePath }))
      return file ? { ...event, files: [file] } : event
    } catch (cause) {
      const error = cause instanceof ReplyError ? cause : undefined
      const problem = `${name} can't read the picture ${event.picturePath}, so it is not shown`
      onError(
        new ReplyError(error?.type ?? 'malformed', `${problem}: ${error?.message ?? 'the response is malformed.'}`, {
          cause,
        }),
      )
      return event
    }
  }

  /**
   * Waits until Codex has repeated a request of a thread that was resumed, or tells that it was answered, for two seconds at most. It
   * repeats requests after the response, and without them, those that were shown before would look answered.
   */
  async function untilRequested(threadID: string): Promise<void> {
    const isRequested = (): boolean => (heldMessages.get(threadID) ?? []).some(isAboutRequest)
    for (let attempt = 1; attempt < mostAttempts && !isRequested(); attempt++) await betweenAttempts()
  }

  /** Handles the messages of a thread that were held, in order, until one of them needs to hold the rest again. */
  function handleHeld(threadID: string): void {
    const lines = heldMessages.get(threadID) ?? []
    heldMessages.delete(threadID)
    for (const line of lines) handleMessage(line)
  }

  /** Returns a thread as a session, without opening it. */
  async function readThread(threadId: string): Promise<SessionInfo> {
    return await ask('thread/read', { threadId }, sessionIn)
  }

  /**
   * Asks something about a thread whose first turn may have just begun. Codex refuses that until it has stored the turn, so this
   * tries for two seconds.
   */
  async function onceStored<T>(request: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await request()
      } catch (error) {
        if (attempt === mostAttempts || !(error instanceof ReplyError && error.type === 'refused')) throw error
        await betweenAttempts()
      }
    }
  }

  async function betweenAttempts(): Promise<void> {
    await new Promise<void>((resolve) => clock.after(betweenAttemptsMs, resolve))
  }

  /**
   * Handles a message of Codex. Holds it if its thread's messages are held. Shows a request as an ask, or refuses and
   * reports it if its kind is unknown or no run is open that could ask. A listener's request is left to its other
   * clients then.
   */
  function handleMessage(value: unknown): void {
    const message = decodeRpc(value)
    if (message?.type === 'response') return rpc.settle(message)
    const threadID = threadIDOf(message?.params) ?? ''
    const held = heldMessages.get(threadID)
    if (held) return void held.push(value)
    if (left.has(threadID) && !isNeeded(threadID)) return
    if (message?.type === 'notification') applyNotice(decodeNotification(message.method, message.params), value)
    if (message?.type !== 'request') return
    const { id, method, params } = message
    const request = decodeRequest(method, params)
    const run = request && turns.runOf(request.threadID, request.turnID)
    if (request && run?.isOpen()) {
      const send = url === undefined ? rpc.respond : respondAndConfirm
      const ask = asks.toAsk(nameOf(id, request), request, run, async (result) => await send(id, result))
      const { requestID: name, callID } = ask
      asked.set(String(id), { requestID: String(id), threadID: request.threadID, name, callID })
      unrepeated.delete(name)
      return run.ask(url === undefined ? ask : withoutCancel(ask))
    }
    // Another client of the listener may answer it.
    if (url !== undefined) return
    const reason = request ? 'belongs to no run that is open' : 'is not supported in this form'
    onError(new ReplyError('unsupported', `${name} sent the request ${method}, which ${reason}. It was refused.`))
    rpc.refuse(id, method).catch(() => {})
  }

  /** Applies what a notification says. Does nothing if it changes no reply. `value` is the message. */
  function applyNotice(notice: CodexNotice | undefined, value: unknown): void {
    switch (notice?.type) {
      case undefined:
        return
      case 'event': {
        const { event } = notice
        if (event.type === 'turn' && isUnneeded(event.threadID)) return leave(event.threadID)
        if (event.type === 'turn' && newestTurns.has(event.threadID)) newestTurns.set(event.threadID, event.turnID)
        if (event.type === 'call' && event.picturePath !== undefined) return void writeWithPicture(event, value)
        if (event.type === 'end') showAnswer(event, value)
        return turns.write(event, value)
      }
      case 'ask-gone':
        return closeAsk(notice)
      case 'goal':
        return turns.setGoal(notice.threadID, notice.objective)
      case 'settings':
        return settings.changed(notice.threadID, notice.settings)
      case 'active':
        return isUnneeded(notice.threadID) ? leave(notice.threadID) : void follow(notice.threadID, sentAtIn(value))
      default:
        return notice satisfies never
    }
  }

  /**
   * Shows the last text of a turn that ends, if it went on when its thread was followed and the text was missed: up to 0.150.0, Codex
   * may tell of a text before its messages come, and after it has made the response with the turn.
   */
  function showAnswer(end: Extract<CodexEvent, { readonly type: 'end' }>, value: unknown): void {
    const { threadID, turnID, answer } = end
    if (!joined.delete(turnID) || !answer) return
    const run = turns.runOf(threadID, turnID)
    if (run && !writer.hasText(run, answer))
      turns.write({ type: 'message', kind: 'text', ...answer, threadID, turnID }, value)
  }

  /**
   * Returns the id of the ask for a request. A listener repeats a request to each client that connects, so that the id is the same
   * after a lost connection, and for a client that was started again: that of the turn, which no other process of Codex has. A
   * request without a turn belongs to the newest one of its thread that goes on.
   */
  function nameOf(
    id: string | number,
    { threadID, turnID = turns.currentTurn(threadID) ?? connectionID }: CodexRequest,
  ): string {
    return `${turnID}.${id}`
  }

  /** Closes the ask of a request that Codex no longer waits for. Does nothing if it was not shown. */
  function closeAsk({ threadID, requestID }: Extract<CodexNotice, { readonly type: 'ask-gone' }>): void {
    unconfirmed.get(requestID)?.confirm()
    const name = asked.get(requestID)?.name
    asked.delete(requestID)
    if (name !== undefined) turns.closeAsk(threadID, name)
  }

  /**
   * Answers a request of a listener. Resolves when Codex tells that it has the answer, because the end of the connection may lose
   * one that was sent. Rejects with `unreachable` if the connection ends first.
   */
  async function respondAndConfirm(id: string | number, result: object): Promise<void> {
    const requestID = String(id)
    let stop = (): void => {}
    try {
      await new Promise<void>((resolve, reject) => {
        unconfirmed.set(requestID, { confirm: resolve, fail: reject })
        const problem = `${name} did not confirm the answer within ${deadlineMs} ms. Look whether it goes on`
        stop = clock.after(deadlineMs, () => reject(new ReplyError('unreachable', `${problem}, then try again.`)))
        rpc.respond(id, result).catch(reject)
      })
    } finally {
      stop()
      unconfirmed.delete(requestID)
    }
  }

  /** Fails all requests, because the program or connection has ended. The runs of a listener stay open, all others fail. */
  function handleEnd(codeOrSignal: number | string | undefined, lastLine: string): void {
    program = undefined
    const error = new ReplyError('unreachable', endMessage(codeOrSignal, lastLine))
    rpc.failAll(error)
    if (url === undefined) return agent.fail(error)
    for (const { fail } of [...unconfirmed.values()]) fail(error)
    for (const threadID of threads) lost.add(threadID)
    for (const shown of asked.values()) unrepeated.set(shown.name, shown)
    asked.clear()
    agent.lose(error)
  }

  /** Returns what has ended: the connection, or the program with its exit code or signal, and the last line of stderr if any. */
  function endMessage(codeOrSignal: number | string | undefined, lastLine: string): string {
    if (url !== undefined) return `The connection to ${name} has ended. It is opened again.`
    const ended = `${name} ended with ${typeof codeOrSignal === 'number' ? `code ${codeOrSignal}` : codeOrSignal}`
    return lastLine === '' ? `${ended}. Run it by hand to see why.` : `${ended}: ${lastLine}`
  }
}

/**
 * Throws `invalid` for a token without a `url`, for a `url` that doesn't begin with `ws:` or `wss:`, and for a `url`
 * together with options of a program that is started.
 */
function checkListener({ url, token, command, args, env, graceMs }: CodexOptions): void {
  if (url === undefined) {
    if (token === undefined) return
    throw new ReplyError('invalid', 'A token needs the `url` of its listener. Pass both, or none.')
  }
  if (!URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol))
    throw new ReplyError(
      'invalid',
      'The `url` of a listener begins with ws:// or wss://, for example ws://127.0.0.1:4500.',
    )
  const given = Object.entries({ command, args, env, graceMs }).find(([, value]) => value !== undefined)
  if (given)
    throw new ReplyError('invalid', `\`${given[0]}\` is for a program that is started. Leave it out with \`url\`.`)
}

/** An ask for a request of Codex. */
interface ShownAsk {
  /** The id of Codex's request. */
  readonly requestID: string
  /** The id of the ask. */
  readonly name: string
  readonly threadID: string
  readonly callID: string | undefined
}

/** The end of a turn whose process was killed. */
const cutEnding: LocalEnding = {
  type: 'failed',
  error: {
    name: 'CodexError',
    message: 'Codex was ended in the middle of this turn, which does not go on. Send another prompt to continue.',
    raw: undefined,
  },
}

/** The id of the request that a message is. Empty for other messages. */
function requestIDsIn(value: unknown): readonly string[] {
  const message = decodeRpc(value)
  return message?.type === 'request' ? [String(message.id)] : []
}

/** Whether a message of Codex is a request, or tells that one was answered. */
function isAboutRequest(value: unknown): boolean {
  const message = decodeRpc(value)
  if (message?.type !== 'notification') return message?.type === 'request'
  return decodeNotification(message.method, message.params)?.type === 'ask-gone'
}

/** Whether a message of Codex is a request, or tells of a prompt or something of the agent. */
const isToShow = (value: unknown): boolean =>
  requestIDsIn(value).length > 0 || eventsIn(value).some((event) => !isSilent(event))

/** Whether a turn goes on, or has ended since then. Codex's times are whole seconds. */
const isOpenSince = (turn: CodexTurn, since: number): boolean =>
  goesOn(turn) || (typeof turn.completedAt === 'number' && turn.completedAt * 1000 + 999 >= since)

/** Returns the same ask, but without an answer if its run ends here, because another client may answer it. */
function withoutCancel(ask: LocalAsk): LocalAsk {
  return { ...ask, reply: async (answer) => (answer.type === 'canceled' ? undefined : await ask.reply(answer)) }
}

/** How often, and how long after each other, something is tried or looked for that Codex may do a moment later. */
const mostAttempts = 20
const betweenAttemptsMs = 100
