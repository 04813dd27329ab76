import { systemClock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { InputPart } from '../input.ts'
import { createMessageIDs } from '../message-id.ts'
import type { AskAddress, Capabilities, SessionInfo, SessionRead, Source, SourcePrompt, WorkStatus } from '../port.ts'
import { resolveDots } from '../resolve-dots.ts'
import { createAborter } from './abort.ts'
import type { LocalAgent, LocalAgentOptions, LocalHistoryRun } from './agent-options.ts'
import { createEventQueue } from './event-queue.ts'
import { failureFrom, promptPartsOf, resolvesBeforeAbort, toLocalAnswer } from './input.ts'
import type { LocalAnswer } from './output.ts'
import { createRun, type LocalChildStart, type LocalRun, type OwnedRun } from './run.ts'
import { createSessionLog, type SessionLog } from './session-log.ts'
import { createLocalSessions, newestOf } from './sessions.ts'

/** The reading of a session's past. Its runs emit nothing until it is over. */
interface PastRead {
  isOver: boolean
  /** When the run that is being read began. Undefined if unknown. */
  at: number | undefined
}

/**
 * Creates a source for an agent whose sessions live as long as your program, for example a local process, or one
 * process per prompt. It keeps the sessions, the runs with their asks, and the connection's events. Your `options`
 * start, prompt and stop the agent.
 */
export function createLocalAgent(options: LocalAgentOptions): LocalAgent {
  const { name, clock = systemClock, redact = (text) => text } = options
  /** The runs that have not ended, by session: the current one first, then those that wait for its end. */
  const runs = new Map<string, readonly OwnedRun[]>()
  /** What sessions hold. Empty unless the agent can read them. A session without a log was not read yet. */
  const logs = new Map<string, SessionLog>()
  /** Sessions that are being read. */
  const reads = new Map<string, Promise<void>>()
  /** Runs whose prompts were queued behind another one. */
  const queued = new WeakSet<OwnedRun>()
  /** Runs that the agent began by itself. A prompt that is on its way when one ends is part of the same reply. */
  const woken = new WeakSet<OwnedRun>()
  const events = createEventQueue()
  const ids = createMessageIDs({ clock })
  const aborter = createAborter(options, clock)
  const sessions = createLocalSessions(options, clock, events, startOnce)
  let starting: Promise<void> | undefined
  /** Whether the connection to an agent that goes on was lost, and no other one has been opened. */
  let isInGap = false
  let isClosed = false
  const source: Source = {
    name,
    isLocal: true,
    connect,
    learn: async () => capabilities(),
    startReading: () => {
      let statuses: ReturnType<typeof busySessions> | undefined
      return { working: async () => (statuses ??= busySessions()), session: readSession }
    },
    session: findSession,
    message: async (place, messageID) => {
      const message = (await requireLog(place)).messages().find(({ head }) => head.id === messageID)
      if (message) return message
      throw new ReplyError('gone', `Session ${place.sessionID} of ${name} has no message ${messageID}.`)
    },
    countPrompts: async (place, text) => {
      const log = await requireLog(place)
      const waiting = (runs.get(place.sessionID) ?? []).filter((run) => !run.hasBegun())
      return log.countPrompts(text) + waiting.filter((run) => run.promptText() === text.trim()).length
    },
    children: async (place) => {
      await findSession(place)
      await readOnce(place.sessionID)
      return sessions.childrenOf(place.sessionID)
    },
    working: async () => {
      await endGap()
      return busySessions()
    },
    asks: async () => {
      await endGap()
      return { asks: allRuns().flatMap((run) => run.asks()), isWhole: true }
    },
    sessions: sessions.list,
    newestTime: async (directory) => newestOf((await sessions.list({ directory })).map(({ updatedAt }) => updatedAt)),
    spelled: async (directory) => (await options.spelled?.(directory)) ?? resolveDots(directory),
    create: createSession,
    prompt: async (place, prompt) => await sendPrompt(place, prompt, promptPartsOf(prompt)),
    waiting: async (place) =>
      (runs.get(place.sessionID) ?? [])
        .filter((run) => queued.has(run) && !run.hasBegun())
        .map(({ promptID }) => promptID),
    command: async (place, { command, arguments: args = '', ...rest }) => {
      const text = `/${command} ${args}`.trim()
      await sendPrompt(place, { ...rest, text }, [{ type: 'text', text }])
    },
    answer: async (ask, answer, signal) => await answerAsk(ask, toLocalAnswer(answer), signal),
    reject: async (ask, message, signal) => await answerAsk(ask, { type: 'rejected', message }, signal),
    abort: abortSession,
    models: async (directory) => {
      await startOnce()
      return (await options.models?.(directory)) ?? []
    },
    takes: async (target) => {
      await startOnce()
      return await options.takes?.(target)
    },
    ...(options.fork && { fork: forkSession }),
    ...(options.commands && { commands: options.commands }),
    ...(options.agents && { agents: options.agents }),
    close: closeAgent,
  }
  return {
    source,
    session: sessions.get,
    run: (id) => runs.get(id)?.[0],
    wake,
    update: sessions.store,
    read: readOnce,
    readAgain,
    fail: failAllRuns,
    lose: loseConnection,
  }

  /**
   * Starts the agent if needed and yields `connected`, then all events until the connection ends. Yields nothing if the
   * signal aborts before the agent has started.
   */
  async function* connect({ signal }: { readonly signal: AbortSignal }): AsyncIterable<readonly ReplyEvent[]> {
    throwIfClosed()
    // A slow agent continues to start for the next connection.
    if (!(await resolvesBeforeAbort(startOnce(), signal))) return
    events.open()
    isInGap = false
    yield [{ type: 'connected', at: clock.now() }]
    yield* events.read(signal)
  }

  /** Returns the agent's capabilities over the defaults, as of now. */
  function capabilities(): Capabilities {
    return {
      canRead: options.read !== undefined,
      nextMessageID: ids,
      keepsPromptIDs: false,
      takesPromptsWhileBusy: false,
      queuesPrompts: false,
      showsNotes: false,
      listsEverywhere: true,
      abortsAsks: true,
      ...options.capabilities?.(),
    }
  }

  /**
   * Starts the agent unless it has started. Simultaneous calls share one start, and a failed one is repeated by the
   * next call. Rejects with `closed` once the source is closed.
   */
  async function startOnce(): Promise<void> {
    throwIfClosed()
    const start = starting ?? (async () => await options.start?.())()
    starting = start
    try {
      await start
    } catch (error) {
      if (starting === start) starting = undefined
      throw error
    }
    throwIfClosed()
  }

  /** Waits until the agent is reached again, so that its runs are as they are now. Does nothing without a gap. */
  async function endGap(): Promise<void> {
    if (isInGap) await startOnce()
  }

  /** Returns a session, like `LocalSessions.find`. Rejects with `closed` once the source is closed. */
  async function findSession(place: SessionRef): Promise<SessionInfo> {
    throwIfClosed()
    await endGap()
    const isKnown = sessions.get(place.sessionID) !== undefined
    const found = await sessions.find(place)
    if (isKnown) await options.refresh?.(place.sessionID)
    return found
  }

  /**
   * Returns the session's log and its runs' state. The log is filled first if the session is from an earlier process.
   */
  async function readSession(place: SessionRef): Promise<SessionRead> {
    const log = await requireLog(place)
    const { sessionID } = place
    return {
      info: await findSession(place),
      messages: log.messages(),
      isWhole: log.isWhole(),
      isSound: true,
      working: runs.has(sessionID) ? (log.working() ?? { status: 'busy' }) : undefined,
      asks: (runs.get(sessionID) ?? []).flatMap((run) => run.asks()),
      todos: log.todos(),
      children: sessions.childrenOf(sessionID),
    }
  }

  /**
   * Returns the session's log, filled first if the session is from an earlier process. Rejects with `unsupported` if
   * the agent can't be read.
   */
  async function requireLog(place: SessionRef): Promise<SessionLog> {
    const { sessionID } = await findSession(place)
    if (!capabilities().canRead)
      throw new ReplyError(
        'unsupported',
        `${name} does not show the content of its sessions. Read the replies of its runs.`,
      )
    await readOnce(sessionID)
    return openLog(sessionID)
  }

  /**
   * Fills the log of a session that has none, if the agent can be read. Simultaneous calls share one read, and a failed
   * one is repeated by the next call.
   */
  async function readOnce(sessionID: string): Promise<void> {
    const runningRead = reads.get(sessionID)
    if (runningRead) return await runningRead
    if (!logs.has(sessionID)) await readAgain(sessionID)
  }

  /** Adds to the log of a session what it lacks, if the agent can be read. */
  async function readAgain(sessionID: string): Promise<void> {
    if (!options.read || !capabilities().canRead) return
    const read = readPast(options.read, sessionID)
    reads.set(sessionID, read)
    try {
      await read
    } finally {
      reads.delete(sessionID)
    }
  }

  /**
   * Fills the session's log with the runs of an earlier process, without emitting events. Its last run becomes the
   * current one if it is still going. A failed first read drops the log.
   */
  async function readPast(read: NonNullable<LocalAgentOptions['read']>, sessionID: string): Promise<void> {
    const place = { sessionID, directory: sessions.get(sessionID)?.directory }
    const past: PastRead = { isOver: false, at: undefined }
    let newest: OwnedRun | undefined
    const isNew = !logs.has(sessionID)
    openLog(sessionID)
    try {
      await read(place, { run: addPastRun })
    } catch (error) {
      newest?.end({ type: 'aborted' })
      if (isNew) logs.delete(sessionID)
      throw error
    } finally {
      past.isOver = true
    }

    /** Adds and begins the next past run, and ends the one before it as aborted if it is open. */
    function addPastRun({ parts, messageID = ids(), at }: LocalHistoryRun): LocalRun {
      newest?.end({ type: 'aborted' })
      past.at = at
      newest = addRun(place, messageID, false, past)
      newest.setPrompt(parts)
      newest.begin()
      return newest
    }
  }

  /** Returns the session's log. Stores an empty one first if there is none. */
  function openLog(sessionID: string): SessionLog {
    const log = logs.get(sessionID) ?? createSessionLog((childID) => logs.delete(childID))
    logs.set(sessionID, log)
    return log
  }

  /** Creates a session with the agent, stores it, opens its log and emits it. */
  async function createSession({ directory, ...input }: Parameters<Source['create']>[0]): Promise<SessionInfo> {
    await startOnce()
    const home = directory === undefined ? undefined : await source.spelled(directory)
    const created = await options.create({ ...input, directory: home })
    const at = clock.now()
    if (options.read) openLog(created.sessionID)
    return sessions.store({ title: input.title, createdAt: at, updatedAt: at, ...created })
  }

  /**
   * Copies a session and its log, stores the copy and emits it. A copy up to a message that the log doesn't keep has no log
   * until the agent is asked for it. Rejects with `unsupported` if the agent returns none.
   */
  async function forkSession(place: SessionRef, messageID?: string): Promise<SessionInfo> {
    await findSession(place)
    await readOnce(place.sessionID)
    const copy = await options.fork?.(place, messageID)
    const log = logs.get(place.sessionID)?.copy(messageID)
    if (copy && log) logs.set(copy.sessionID, log)
    if (copy) return sessions.store(copy)
    throw new ReplyError('unsupported', `${name} can't copy sessions. Start a new one.`)
  }

  /**
   * Adds a run and sends its prompt to the agent. Begins the run at once if it joins the current one or is the first.
   * Rejects with `refused` without a connection, or in a busy session that takes no prompts, and with `unreachable` in a gap.
   * If the agent rejects, the run is removed, or fails if it had begun.
   */
  async function sendPrompt(place: SessionRef, prompt: SourcePrompt, parts: readonly InputPart[]): Promise<void> {
    const { sessionID, directory } = await findSession(place)
    await startOnce()
    if (!events.isOpen())
      throw new ReplyError(
        isInGap ? 'unreachable' : 'refused',
        `${name} is not connected, so the prompt was not sent. Wait for the connection, then send it again.`,
      )
    await readOnce(place.sessionID)
    const { queuesPrompts, takesPromptsWhileBusy } = capabilities()
    const joinsRun = takesPromptsWhileBusy && prompt.delivery !== 'queue'
    if (runs.has(sessionID) && !queuesPrompts && !joinsRun)
      throw new ReplyError('refused', `Session ${sessionID} runs one prompt at a time. Wait until it is idle.`)
    if (prompt.noReply) throw new ReplyError('unsupported', `${name} stores no notes. Send a prompt without noReply.`)
    const isQueued = !joinsRun && runs.has(sessionID)
    const run = addRun({ sessionID, directory }, prompt.messageID ?? ids())
    if (isQueued) queued.add(run)
    run.setPrompt(parts)
    try {
      await options.prompt(run, prompt)
      // A queued run begins with its first output. One that joins is part of the same reply at once.
      if (joinsRun || runs.get(sessionID)?.[0] === run) run.begin()
    } catch (error) {
      const hasBegun = run.hasBegun()
      removeRun(run)
      if (hasBegun) return run.end({ type: 'failed', error: failureFrom(error) })
      // A woken run that waited for this one has left the session busy.
      if (!runs.has(sessionID)) events.push([{ type: 'status', status: 'idle', sessionID, directory, at: clock.now() }])
      throw error
    }
  }

  /**
   * Creates a run and adds it behind the session's other runs. Its events go into the session's log and to the
   * connection, but a past run's only into the log.
   */
  function addRun(place: SessionRef, promptID: string, isBackground = false, past?: PastRead): OwnedRun {
    const run = createRun({
      ...place,
      promptID,
      isBackground,
      nextID: ids,
      now: () => clock.now(),
      messageTime: () => (past && !past.isOver ? past.at : clock.now()),
      emit: (emitted) => {
        logs.get(place.sessionID)?.apply(promptID, emitted)
        if (!past || past.isOver) events.push(emitted)
      },
      redact,
      startChild: (child) => beginChild(run, child, past),
      onEnd: () => {
        removeRun(run)
        const others = runs.get(place.sessionID) ?? []
        return others.some((other) => other.hasBegun()) || (others.length > 0 && woken.has(run))
      },
    })
    runs.set(place.sessionID, [...(runs.get(place.sessionID) ?? []), run])
    if (!past) sessions.touch(place.sessionID)
    return run
  }

  /** Removes a run that has ended or was not sent, and stops its kill timer. */
  function removeRun(run: OwnedRun): void {
    const others = (runs.get(run.sessionID) ?? []).filter((other) => other !== run)
    if (others.length > 0) runs.set(run.sessionID, others)
    else runs.delete(run.sessionID)
    aborter.stopKillTimer(run)
  }

  /**
   * Returns the run for output that no prompt of this client began: the session's current one. Without one, begins a run whose
   * message is the reason, or the prompt of another client.
   */
  function wake({ sessionID }: SessionRef, cause: Parameters<LocalAgent['wake']>[1]): LocalRun {
    const others = runs.get(sessionID) ?? []
    // A prompt that is still on its way has its own run, behind this one. Otherwise this turn would become its answer.
    const current = others.find((other) => other.hasBegun())
    if (current) return current
    const { parts, messageID = ids() } =
      typeof cause === 'string' ? { parts: [{ type: 'text', text: cause, synthetic: true } as const] } : cause
    // A run that failed here may go on there. It is another reply then, so its message needs another id.
    const isKnown = logs
      .get(sessionID)
      ?.messages()
      .some(({ head }) => head.id === messageID)
    const run = addRun({ sessionID, directory: sessions.get(sessionID)?.directory }, isKnown ? ids() : messageID)
    runs.set(sessionID, [run, ...others])
    woken.add(run)
    run.setPrompt(parts)
    run.begin()
    return run
  }

  /** Stores and emits the session of a sub-agent, and begins a run in it. */
  function beginChild(parent: OwnedRun, start: LocalChildStart, past: PastRead | undefined): OwnedRun {
    const { sessionID = ids().replace('msg', 'ses'), title, text, background } = start
    const at = clock.now()
    const { directory } = parent
    sessions.store({ sessionID, parentID: parent.sessionID, directory, title, createdAt: at, updatedAt: at })
    if (options.read) openLog(sessionID)
    logs.get(parent.sessionID)?.addChild(parent.promptID, sessionID)
    const run = addRun({ sessionID, directory }, ids(), background === true, past)
    if (text !== undefined) run.setPrompt([{ type: 'text', text }])
    run.begin()
    return run
  }

  /** Passes an answer to the run that has the ask. Rejects with `gone` if no run has it. */
  async function answerAsk(ask: AskAddress, answer: LocalAnswer, signal: AbortSignal | undefined): Promise<void> {
    throwIfClosed()
    await endGap()
    signal?.throwIfAborted()
    const run = runs
      .get(ask.sessionID)
      ?.find((each) => each.asks().some(({ requestID }) => requestID === ask.requestID))
    if (!run)
      throw new ReplyError('gone', `The ask ${ask.requestID} is no longer pending, so there is nothing to answer.`)
    await run.answer(ask.requestID, answer)
  }

  /**
   * Aborts the session's runs, and its sub-agents in the background, which may have outlived the run that began them.
   */
  async function abortSession(place: SessionRef): Promise<void> {
    await findSession(place)
    const canceled = allRuns().filter(
      ({ sessionID, isBackground }) =>
        sessionID === place.sessionID || (isBackground && sessions.isBelow(sessionID, place.sessionID)),
    )
    await aborter.abort(canceled, place)
  }

  /** Returns the runs of all sessions that have not ended. */
  function allRuns(): readonly OwnedRun[] {
    return [...runs.values()].flat()
  }

  /** Returns the sessions with a run that has not ended, each as `busy`. */
  function busySessions(): ReadonlyMap<string, WorkStatus> {
    return new Map([...runs.keys()].map((sessionID) => [sessionID, { status: 'busy' }]))
  }

  /** Fails all runs and breaks the connection, because the agent has ended. The next call starts the agent again. */
  function failAllRuns(error: ReplyError): void {
    starting = undefined
    for (const run of allRuns()) run.end({ type: 'failed', error: failureFrom(error) })
    events.fail(error)
  }

  /** Breaks the connection, because the agent can't be reached. The next call that needs it starts it again. */
  function loseConnection(error: ReplyError): void {
    starting = undefined
    isInGap = true
    events.fail(error)
  }

  /** Throws `closed` if the source was closed. */
  function throwIfClosed(): void {
    if (isClosed) throw new ReplyError('closed', `The connection to ${name} was closed. Create a new one.`)
  }

  /** Ends all runs as aborted, breaks the connection and calls `options.close`, once. */
  function closeAgent(): void {
    if (isClosed) return
    isClosed = true
    for (const run of allRuns()) run.end({ type: 'aborted' })
    events.fail(new ReplyError('closed', `The connection to ${name} was closed. Create a new one.`))
    options.close?.()
  }
}
