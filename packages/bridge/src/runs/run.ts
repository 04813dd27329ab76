import {
  type Client,
  type Observation,
  observerOf,
  type PostedPrompt,
  type PromptFile,
  type PromptInput,
  type Reply,
  ReplyError,
  type ReplyObserver,
  type ReplyStream,
  type RunOptions,
} from '@reply/core'
import { pause, stopwatch } from '@reply/core/internal'
import { type CommandInfo, type FileKind, fileTypeOf, mayActWithoutAsking } from '@reply/core/source'
import type { InboundFile } from '@reply/sink'
import type { BridgeConnection } from '@reply/sink/channel'
import { withResolvers } from '@reply/sink/internal'
import type { ChatMessage } from '../chats/channels.ts'
import type { FoundRoute } from '../chats/routes.ts'
import { BridgeError, errorTypeOf, isTakenOver, messageOf } from '../error.ts'
import { runAgainButtons, writeUnknownRun } from '../failed/failure-rows.ts'
import { takenOverError } from '../members/membership.ts'
import { placeKey } from '../place.ts'
import type { FailedDelivery, Route } from '../state/decode.ts'
import { type Execution, statusOf } from '../state/execution.ts'
import type { OwnRows } from '../state/registry.ts'
import { createOrderedCommits } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { isAudio } from '../voice/audio.ts'
import type { ActiveRun } from './active-runs.ts'
import { createDeskPrompts } from './desk-prompts.ts'
import type { RunObservers } from './ended-runs.ts'
import { areSameAsks, asksToStore, withEarlierAsks } from './followed-execution.ts'
import { closeShown } from './lost-runs.ts'
import { createOwnShow } from './own-show.ts'
import { createRunEvents } from './run-events.ts'
import type { BridgeServices } from './services.ts'
import { isCutShort, observersOf, passOn, waitForMirrors } from './show-run.ts'

/** A run that is planned, or that an earlier process started. */
export interface PlannedRun {
  /** As it is stored. */
  readonly execution: Execution
  readonly route: Route
  readonly client: Client
  /** The route of the place when the run started. A reply to a message may use another session. */
  readonly placeRoute: FoundRoute
  /** How long ago an earlier process started it, in ms. Default: it starts now. */
  readonly ageMs?: number | undefined
}

/** What shows a run, and what the runner must know about it. */
export interface RunHost {
  readonly sinks: ActiveRun['sinks']
  readonly runObservers: RunObservers
  /** Whether the chat already shows a reply as a run that no prompt of the chat began. From then on it shows all of it. */
  readonly isShown: (reply: Reply) => boolean
  /** Called after the run got its reply. */
  readonly onReply: () => void
  /** Called when the run's session is known. */
  readonly onSession: (sessionID: string) => void
  /** Whether the bridge is stopping. The next process then continues from what is stored. */
  readonly isStopping: () => boolean
}

/** One try to post the prompt. */
interface PostAttempt {
  /** Whether its stream has ended. Then nothing of it is stored any more. */
  isOver: boolean
  /** Resolves when what is stored right before the post is stored, or could not be. Never rejects. */
  stored: Promise<void>
}

/**
 * Posts a planned prompt, or finds one that an earlier process posted, and follows the run until its answer is delivered.
 * Returns the run at once. Errors end the run, and go to `onError`.
 */
export function beginRun(services: BridgeServices, planned: PlannedRun, host: RunHost): ActiveRun {
  const { client, placeRoute, ageMs = 0 } = planned
  const { sinks, onSession, isStopping } = host
  const { state, registry, routes, channels, people, requireSafe, clock, asks, answeredBy, failed, emit, onError } =
    services
  const { lease, notices } = services
  const { router } = services.config
  const { prompt, server } = planned.execution
  /** Agents treat every prompt that begins with a slash as a command, and may list their commands late, or never. */
  const isAgent = services.config.servers[server]?.agent !== undefined
  let { execution, route } = planned
  let stream: ReplyStream | undefined
  let isCanceled = execution.isCanceled === true
  /** Whether it steers a run that another run of the chat may show. Stays true if this run shows its reply. */
  const isSteer = execution.isSteer === true
  /** The session was deleted, so a new one runs the prompt. */
  let isRenewed = false
  /** The last try to post the prompt. */
  let attempt: PostAttempt = { isOver: false, stored: Promise.resolve() }
  /** Of that try: aborts when its calls may no longer be made. */
  let postingPermit: AbortSignal | undefined
  /** Whether the last try is followed by another one. Undefined until that is decided. */
  let isTriedAgain: boolean | undefined
  const commitInOrder = createOrderedCommits(state)
  /** What this process stored of the newest run of the session. */
  let ownNewest: string | undefined
  /** Returns how long ago this process stored the log, in ms. */
  let sinceLoggedMs: (() => number) | undefined
  const found = withResolvers<void>()
  const accepted = withResolvers<void>()
  const canceled = withResolvers<void>()
  const delivered = withResolvers<void>()
  const show = createOwnShow({ joined: () => stream?.joined, isShownByOther, now: clock.now })
  const deskPrompts = createDeskPrompts(services, { execution: () => execution, store: updateExecution })
  const events = createRunEvents(execution, clock, answeredBy, emit)
  const sinceFollowedMs = stopwatch(clock)
  const ended = runToEnd()
  return {
    execution: () => execution,
    ageMs: () => ageMs + sinceFollowedMs(),
    sinks,
    stream: () => stream,
    isShownElsewhere: show.isElsewhere,
    isOvertaken: () => stream?.reply !== undefined && stream.joined === undefined,
    onShown: events.onShown,
    cancel,
    found: found.promise,
    accepted: accepted.promise,
    delivered: delivered.promise,
    ended,
  }

  /**
   * Follows the run until its answer is delivered, and resolves `found` and `delivered` by then. Never rejects. An error ends
   * the run, unless the bridge is stopping or was taken over.
   */
  async function runToEnd(): Promise<void> {
    const unfollow = registry.followReply(execution, () => stream?.reply)
    try {
      await followToEnd()
    } catch (error) {
      if (!isStopping() && !isTakenOver(error)) await endFailed(error).catch(onError)
    } finally {
      found.resolve()
      accepted.resolve()
      delivered.resolve()
      unfollow()
    }
  }

  /**
   * Posts the prompt, or finds its run, and follows that to the end of its delivery. Ends a canceled run that was not posted.
   * If the session was deleted, says so in the chat and posts once more, in a new session. If the calls were aborted before the
   * prompt was posted, posts once more. Returns early while the bridge is stopping.
   */
  async function followToEnd(): Promise<void> {
    if (isCanceled && execution.posted === undefined) return await endCanceled()
    stream = execution.posted === undefined ? await postPrompt() : await findPosted(execution.posted)
    if (!stream) return
    found.resolve()
    if (isCanceled) void client.abort(stream).catch(onError)
    let reply = await endOf(stream)
    while (!isStopping() && isPostedAgain(reply)) {
      if (!isRenewed && isSessionGone(reply)) {
        isRenewed = true
        route = { ...route, sessionID: undefined }
        await channels.tryPost(prompt, { text: texts.sessionGone, replyTo: prompt.messageRef }, 'next')
      }
      stream = await postPrompt()
      if (!stream) return
      reply = await endOf(stream)
    }
    if (isStopping()) return
    await deliverReply(reply)
  }

  /**
   * Resolves with the reply of a stream that has ended. A stop ends one also while it is stored that the prompt is about to be posted.
   * The end of the run must be stored after that.
   */
  async function endOf({ result }: ReplyStream): Promise<Reply> {
    const reply = await result
    attempt.isOver = true
    await attempt.stored
    return reply
  }

  /**
   * Whether the reply only says that the prompt was not posted, and it is posted once more: because its session was deleted, or because
   * this process could not renew its lease while the session was created. Decided once for each try, because the reply is hidden then.
   */
  function isPostedAgain(reply: Reply): boolean {
    if (execution.phase !== 'planned' || reply.outcome !== 'failed') return false
    isTriedAgain ??= postingPermit?.aborted === true || (!isRenewed && isSessionGone(reply))
    return isTriedAgain
  }

  /**
   * Posts the prompt, or runs it as a command if the agent lists one with its name. Undefined if the run ended instead: a
   * right is missing, the run was canceled, the session can't be guarded, or the model doesn't take a file. Rejects with a `FileFailure` if a file can't be
   * read. Files of a command are dropped, and the chat is told.
   */
  async function postPrompt(): Promise<ReplyStream | undefined> {
    isTriedAgain = undefined
    postingPermit = await lease.whenHeld()
    // The people may have changed since the prompt was stored.
    if (!people.allMay(prompt, 'prompt')) return await endWith(texts.rightGone, texts.mayNot('prompt'))
    const { sessionID, agent, model } = route
    const isGuardRequired = mustBeGuarded()
    const target = { sessionID, title: route.title, agent, model, guarded: isGuardRequired }
    const isCommand = prompt.isCommand || (isAgent && !prompt.isSpoken)
    const command = isCommand ? parseAgentCommand(prompt.text) : undefined
    const commandInfo = command && (await findAgentCommand(client, command.name))
    if (command && (commandInfo || isAgent) && mustRefuseCommand(command, commandInfo))
      return await endWith(texts.unaskedCommand, texts.mayNot('approve'))
    if (isGuardRequired && !(await checkGuardAndReport({ agent, command: commandInfo?.name })))
      return await endWith(texts.unguarded, texts.mayNot('approve'))
    if (isCanceled) return await endCanceled()
    if (command && commandInfo) {
      if (prompt.files.length > 0) await tryPostToChat({ text: texts.commandHasNoFiles })
      const run = runOptions(isGuardRequired)
      /** Checks the command once more, right before it is posted. */
      const onPosting = async (posted: PostedPrompt): Promise<void> => {
        // The server may have restarted since then, with another template.
        if (mustRefuseCommand(command, await findAgentCommand(client, command.name)))
          throw new BridgeError('inbound', texts.unaskedCommand)
        await run.onPosting?.(posted)
      }
      return client.command({ ...target, command: command.name, arguments: command.rest }, { ...run, onPosting })
    }
    const read = await readFiles(channels.connectionOf(prompt.channel), prompt.files, router.maxFileBytes)
    const refusal = await refusalOf(client, { sessionID, agent, model }, read)
    if (refusal) return await endWith(refusal, texts.filesRefused)
    if (isCanceled) return await endCanceled()
    if (!people.allMay(prompt, 'prompt')) return await endWith(texts.rightGone, texts.mayNot('prompt'))
    const files = read.map(({ file }) => file)
    return client.prompt({ ...target, text: prompt.text, files }, runOptions(isGuardRequired))
  }

  /** Whether any author of the prompt lacks `approve`. False on a server with `trustPrompt`. */
  function mustBeGuarded(): boolean {
    return services.config.servers[server]?.trustPrompt !== true && !people.allMay(prompt, 'approve')
  }

  /**
   * Resolves with true if the session can run guarded prompts, and also if the run is canceled meanwhile. Otherwise reports
   * why not, because only the operator can fix it, and resolves with false. Rejects with errors of other types.
   */
  async function checkGuardAndReport(target: Parameters<Client['requireGuard']>[0]): Promise<boolean> {
    try {
      await Promise.race([client.requireGuard(target), canceled.promise])
      return true
    } catch (error) {
      if (!(error instanceof ReplyError) || error.type !== 'unguarded') throw error
      const who = prompt.actor.name ?? prompt.actor.id
      onError(
        new BridgeError('inbound', `A prompt of ${who} was refused on ${server}: ${error.message}`, { cause: error }),
      )
      return false
    }
  }

  /**
   * Whether a command must be refused, because it could run or read something without asking, and an author lacks `approve`. A
   * command that the agent does not list is judged by its name and arguments.
   */
  function mustRefuseCommand({ name, rest }: AgentCommand, commandInfo: CommandInfo = { name }): boolean {
    return mayActWithoutAsking(commandInfo, rest) && !people.allMay(prompt, 'approve')
  }

  /**
   * Returns the options with which the prompt is posted or found. The observers are chosen when the reply is known: none observe a
   * reply that the prompt joined and another run shows.
   */
  function runOptions(isGuardRequired = mustBeGuarded()): RunOptions {
    const watch = asks.observerFor({ place: prompt, client, server })
    const notify = notices.observerFor(() => execution)
    const own = observersOf(sinks, onError, !router.progress.enabled, isPostedAgain)
    const shown = deskPrompts.before(own.map(withAsksOfBefore))
    // If the prompt joined a run, the sink of that run shows the reply.
    const observe = (reply: Reply): readonly ReplyObserver[] => {
      queueMicrotask(host.onReply)
      show.decide(reply)
      noteAccepted(reply)
      if (show.isElsewhere()) return []
      const whileShown = show.whileShown(shown, [watch, notify, events.observer])
      const accepting = observerOf((observation) => noteAccepted(observation.reply))
      return host.runObservers.wrap([...whileShown, observerOf(storeWhatIsShown), accepting])
    }
    const thisAttempt: PostAttempt = { isOver: false, stored: Promise.resolve() }
    attempt = thisAttempt
    return {
      timeoutMs: router.timeoutMs,
      onPosting: async (posted) => await beforePosting(posted, isGuardRequired, thisAttempt),
      observe,
    }
  }

  /** Resolves `accepted` once the server has the prompt. While that is being posted, its reply is empty. */
  function noteAccepted({ promptIDs, messages, phase }: Reply): void {
    if (promptIDs.length > 0 || messages.length > 0 || phase === 'settled') accepted.resolve()
  }

  /**
   * Whether another run shows the reply, because the prompt joined it. A prompt that steers may join a reply of another client that no
   * run shows.
   */
  function isShownByOther(reply: Reply): boolean {
    if (!isJoined(reply)) return false
    if (host.isShown(reply)) return true
    if (!isSteer) return false
    // The run that it steered in an earlier process may be over.
    const isOfEarlierProcess = planned.execution.posted !== undefined
    return (
      isOfEarlierProcess || services.runs.showing(execution, reply) !== undefined || services.runs.isOfEndedRun(reply)
    )
  }

  /** Returns an observer that passes on each reply with what an earlier process knew of its asks. */
  function withAsksOfBefore(observer: ReplyObserver): ReplyObserver {
    const { asks: earlier = [] } = planned.execution
    if (earlier.length === 0) return observer
    return observerOf((observation) =>
      passOn(observer, { ...observation, reply: withEarlierAsks(observation.reply, earlier, clock.now()) }),
    )
  }

  /** Stores what the next process can't know of what the chat shows: the pending asks, and who shows the reply of a prompt that steers. */
  function storeWhatIsShown({ reply }: Observation): void {
    storeWhoShows()
    const pending = show.isElsewhere() ? undefined : asksToStore(reply)
    if (!areSameAsks(pending, execution.asks) && !isStopping()) void updateExecution({ asks: pending }).catch(onError)
  }

  /**
   * Stores whether a prompt that steers shows its reply itself, once it is known which reply that is. Of a reply that has ended, the
   * next process can't tell which run showed it.
   */
  function storeWhoShows(): void {
    if (!isSteer || stream?.joined === undefined || isStopping()) return
    const stored = show.isElsewhere() ? true : undefined
    if (execution.isSteer !== stored) void updateExecution({ isSteer: stored }).catch(onError)
  }

  /**
   * Whether the prompt joined a reply that another prompt started, as its stream says. A run that is found after a restart is
   * observed before its stream is known. Until then, it joined if the reply's first prompt is another one than the posted one.
   * False if the id of the posted one is not stored, and for a reply without prompts, which stands for a run that never began.
   */
  function isJoined({ promptIDs: [first] }: Reply): boolean {
    if (stream) return stream.joined === true
    const id = execution.posted?.messageID
    return id !== undefined && first !== undefined && first !== id
  }

  /**
   * Stores that the prompt is about to be posted, and waits for the lease. The place then uses its session, unless someone
   * chose another session or title meanwhile. Rejects if a right is gone, the directory is not safe, or the stream has ended,
   * and stores nothing then.
   */
  async function beforePosting(
    posted: PostedPrompt,
    isGuardRequired: boolean,
    thisAttempt: PostAttempt,
  ): Promise<void> {
    // Rights may have changed while it waited for its turn.
    if (!people.allMay(prompt, 'prompt') || (!isGuardRequired && mustBeGuarded())) throw new Error(texts.rightGone)
    const { sessionID, directory } = posted
    await requireSafe(server, directory)
    onSession(sessionID)
    // Otherwise the next process would have to look for it on the server, although it was not sent. Checked right before it is
    // stored: a shard that stops waits for prompts that are being posted by then.
    if (isStopping()) throw takenOverError()
    // A stop does not wait for these checks. The end of the run may be stored by now.
    if (thisAttempt.isOver) throw new BridgeError('inbound', texts.canceled)
    const used = routes.writeUsed(prompt, { server, sessionID })
    const newest = registry.writeNewest({ ...execution, phase: 'posting', posted, sessionID })
    // Other members must not take the prompt for one that was written elsewhere.
    const authors = posted.messageID === undefined ? [] : [routes.writeAuthor(posted.messageID, prompt)]
    const writesFrom = (found: FoundRoute): readonly Write[] => [
      ...writesToUse(sessionID, found),
      ...used,
      ...newest,
      ...authors,
    ]
    const stored = updateExecution({ phase: 'posting', posted, sessionID }, writesFrom(placeRoute), async () =>
      // A run must not fail because the store does for a while.
      writesFrom(await state.withRetries(() => routes.findRoute(prompt))),
    )
    thisAttempt.stored = stored.catch(() => {})
    await stored
    ownNewest = newest[0]?.value
    await lease.whenHeld()
  }

  /**
   * Returns the writes that make a session the place's own. They conflict if its route is not as it was found: someone may have chosen
   * another agent or model. Empty if someone has chosen another session or title since the run started.
   */
  function writesToUse(sessionID: string, found: FoundRoute): readonly Write[] {
    const { route: now } = found
    const isOtherChosen = now?.sessionID !== placeRoute.route?.sessionID || now?.title !== placeRoute.route?.title
    if (isOtherChosen && now) return []
    return routes.writeRoute(prompt, { ...(now ?? route), server, sessionID, title: undefined }, found)
  }

  /**
   * Finds the run of a posted prompt. If the server never got it, posts it, but only ends the run if its end was stored and the
   * delivery was left. If the server can't tell, ends the run and asks in the chat whether to run it again. Undefined if the
   * run ended.
   */
  async function findPosted(posted: PostedPrompt): Promise<ReplyStream | undefined> {
    onSession(posted.sessionID)
    const resumed = await resumeWithRetries(posted)
    switch (resumed.type) {
      case 'found':
        events.onFound(execution)
        return resumed.stream
      case 'absent':
        // The run had ended and only its delivery was left. Now there is nothing to show.
        if (execution.phase === 'delivering') return await storeDelivered()
        await updateExecution({ phase: 'planned', posted: undefined })
        return await postPrompt()
      case 'unknown':
        await state.withRetries(() => state.commit([writeUnknownRun(execution)]))
        void failed.emitCounts().catch(onError)
        await closeShown(services, { ...execution, reason: texts.lostSight }, sinks)
        return await endWith(texts.unknownRun, texts.unknownAfterRestart, runAgainButtons(execution.id))
    }
    return resumed satisfies never
  }

  /**
   * Asks the server for the run. Retries while the server is unreachable, because it may start later than the bridge. Rejects
   * with a text for people if the session was deleted, with other errors, and while the bridge is stopping.
   */
  async function resumeWithRetries(posted: PostedPrompt): ReturnType<Client['resume']> {
    for (;;) {
      try {
        // A run whose end is stored must not be started again.
        const canRepeat = execution.phase === 'posting' && posted.text !== undefined
        return await client.resume(posted, {
          ...runOptions(),
          again: canRepeat ? async () => await promptToRepeat(posted) : undefined,
        })
      } catch (error) {
        const type = errorTypeOf(error)
        if (type === 'gone') throw new Error(texts.lostSession, { cause: error })
        if (type !== 'unreachable' || isStopping()) throw error
        await pause(clock, retryMs)
      }
    }
  }

  /**
   * Returns the prompt for a server that stored it, but was killed before it ran, so that it is posted again. Rejects if the
   * run was canceled, if the prompt is no longer allowed, if its directory is not safe, or with a `FileFailure`.
   */
  async function promptToRepeat({ sessionID, directory }: PostedPrompt): Promise<PromptInput> {
    const read = await readFiles(channels.connectionOf(prompt.channel), prompt.files, router.maxFileBytes)
    const files = read.map(({ file }) => file)
    if (isCanceled) throw new BridgeError('inbound', texts.canceled)
    if (!people.allMay(prompt, 'prompt')) throw new BridgeError('inbound', texts.rightGone)
    await requireSafe(server, directory)
    const { agent, model } = route
    return { sessionID, agent, model, guarded: mustBeGuarded(), text: prompt.text, files }
  }

  /**
   * Stores the end of the run, waits until the chats show the reply, and stores which of them miss a part. Does not wait if
   * the reply is shown by another run. Returns early if the bridge is stopping, and the next process then shows the rest.
   */
  async function deliverReply(reply: Reply): Promise<void> {
    const log = registry.writeLog(execution)
    if (execution.isSteer && !show.isElsewhere()) await updateExecution({ isSteer: undefined })
    if (execution.phase !== 'delivering') {
      const [promptID] = reply.promptIDs
      const authors = stream?.joined || promptID === undefined ? [] : [routes.writeAuthor(promptID, prompt)]
      await updateExecution({ phase: 'delivering', ...statusOf(reply), finishedAt: clock.now() }, [log, ...authors])
      sinceLoggedMs = stopwatch(clock)
    }
    if (show.isElsewhere()) {
      // A process that goes on before that finds the prompt, which an agent may have stored as a run of its own.
      await services.runs.showing(execution, reply)?.delivered
      return isStopping() ? undefined : void (await storeDelivered())
    }
    await deskPrompts.decided()
    const delivery = await sinks[0].sink.settled()
    // The next process shows the rest.
    if (isStopping() || isCutShort(delivery)) return
    events.onDelivered(execution, delivery)
    delivered.resolve()
    const shown = [{ place: sinks[0], delivery }, ...(await waitForMirrors(sinks, clock))]
    if (!isStopping()) await storeDelivered(failed.findMissing(execution, stream?.reply ?? reply, shown))
  }

  /** Ends a run that was canceled before its prompt was posted: stores it as `done` and stopped, and posts nothing. */
  async function endCanceled(): Promise<undefined> {
    await updateExecution({ phase: 'done', status: 'stopped', reason: texts.aborted, finishedAt: clock.now() })
    return undefined
  }

  /**
   * Stores the last phase of a run whose answer was posted, and stores and reports the deliveries that are missing. The run is
   * `undelivered` if one is missing in its own place, otherwise `done`.
   */
  async function storeDelivered(missing: readonly FailedDelivery[] = []): Promise<undefined> {
    const isMissing = missing.some((one) => placeKey(one) === placeKey(prompt))
    const phase = isMissing ? 'undelivered' : 'done'
    const writesAtEnd = async (own: OwnRows): Promise<readonly Write[]> => {
      const atEnd = await registry.writesAtEnd({ ...execution, phase }, own)
      return [...failed.write(missing), ...atEnd]
    }
    const own = { newest: ownNewest, loggedAgoMs: sinceLoggedMs?.() }
    await updateExecution({ phase }, await writesAtEnd(own), async () => await writesAtEnd({}))
    failed.reportAll(missing)
    return undefined
  }

  /**
   * Ends the run with an error. If an earlier process posted the prompt and the chat shows messages of it, closes them with
   * the error. Otherwise posts the error. Reports it, too, unless the bridge stopped first: then the next process does this
   * again.
   */
  async function endFailed(error: unknown): Promise<void> {
    const reason = chatMessageOf(error)
    const text =
      error instanceof FileFailure ? texts.fileFailed(plain(error.file), plain(reason)) : texts.failed(plain(reason))
    // After a restart, the messages of the run may still show it as working.
    // If this process stops first, the next one closes them.
    if (stream === undefined && execution.posted)
      await updateExecution({ phase: 'delivering', status: 'error', reason, finishedAt: clock.now() })
    const closed = stream === undefined ? await closeShown(services, execution, sinks) : undefined
    // A sink that was stopped before it got the reply lacks nothing.
    if (closed && (isStopping() || isCutShort(closed.delivery))) return
    if (closed)
      await storeDelivered(
        failed.findMissing(execution, closed.reply, [{ place: sinks[0], delivery: closed.delivery }]),
      )
    else await endWith(text, reason)
    onError(error instanceof Error ? error : new Error(reason))
  }

  /**
   * Ends the run as failed, and posts a text instead of an answer. The text is stored with the end, so a crash does not lose
   * it. Rejects if the bridge stops before it is posted.
   */
  async function endWith(text: string, reason: string, buttons?: ChatMessage['buttons']): Promise<undefined> {
    const pending = failed.pendingFor(execution, text)
    await updateExecution(
      { phase: 'undelivered', status: 'error', reason, finishedAt: clock.now() },
      failed.write([pending]),
    )
    const onPosted = async (writes: readonly Write[]): Promise<void> => {
      const atEnd = await registry.writesAtEnd({ ...execution, phase: 'done' })
      await updateExecution({ phase: 'done' }, [...writes, ...atEnd])
    }
    await failed.postPending(pending, { replyTo: prompt.messageRef, buttons }, onPosted)
    return undefined
  }

  /**
   * Posts a message in the prompt's chat. A reply to the message continues the run's session, or that of the place if the run
   * has none yet. Never rejects.
   */
  async function tryPostToChat(message: ChatMessage): Promise<void> {
    const { sessionID } = execution
    await channels.tryPost(prompt, message, sessionID === undefined ? undefined : { server, sessionID })
  }

  /**
   * Changes and stores the execution, together with other writes and the notices of its end, and emits its events. Retries
   * while the store fails, and rejects when the bridge stops meanwhile. If the other writes may conflict, `onConflict` resolves with
   * those of the next try.
   */
  async function updateExecution(
    change: Partial<Execution>,
    more: readonly Write[] = [],
    onConflict?: () => Promise<readonly Write[]>,
  ): Promise<void> {
    const ended = { ...execution, ...change }
    // Until then the run counts as running: a bridge that stops meanwhile stores it as it is here.
    const told = show.isElsewhere() ? [] : await notices.writesAtEnd(execution, ended, stream?.reply)
    const before = execution
    // Another change may replace it before this one is stored.
    const after = { ...execution, ...change }
    execution = after
    const writesWith = (others: readonly Write[]): readonly Write[] => [
      registry.writeExecution(after),
      ...others,
      ...told,
    ]
    await commitInOrder(writesWith(more), onConflict && (async () => writesWith(await onConflict())))
    if (told.length > 0) void notices.send()
    events.onChanged(before, after)
  }

  /**
   * Stores that the run is canceled, and aborts it. A prompt that is not posted yet is not posted. Rejects like
   * `Client.abort`.
   */
  async function cancel(): Promise<void> {
    isCanceled = true
    canceled.resolve()
    await updateExecution({ isCanceled: true })
    if (stream) await client.abort(stream)
  }
}

/** How long to wait before an unreachable server is tried again, in ms. */
const retryMs = 1000

/** A file of a prompt could not be read. */
class FileFailure extends Error {
  readonly file: string

  constructor(file: string, cause: unknown) {
    super(messageOf(cause), { cause })
    this.name = 'FileFailure'
    this.file = file
  }
}

/** A file of a prompt, with its content. */
interface ReadFile {
  readonly file: PromptFile
  /** As in `FileType`. */
  readonly kind: FileKind | undefined
}

/**
 * Downloads the files of a prompt at the same time, and resolves with them as data URLs of their true types, in their order. Rejects with a
 * `FileFailure` if one can't be downloaded, is empty or larger than `maxBytes`, or is a voice note that was not transcribed.
 */
async function readFiles(
  connection: Pick<BridgeConnection, 'download'>,
  files: readonly InboundFile[],
  maxBytes: number,
): Promise<readonly ReadFile[]> {
  return await Promise.all(
    files.map(async (file) => {
      try {
        // An earlier version may have planned it. No model reads it, and its text was not shown.
        if (isAudio(file)) throw new BridgeError('inbound', texts.notTranscribed)
        const bytes = await connection.download(file, { maxBytes })
        if (bytes.length === 0) throw new BridgeError('inbound', texts.emptyFile)
        const { kind, mime } = fileTypeOf(bytes, file.mime)
        const url = `data:${mime};base64,${Buffer.from(bytes).toString('base64')}`
        return { kind, file: { url, mime, filename: file.name } }
      } catch (cause) {
        throw new FileFailure(file.name, cause)
      }
    }),
  )
}

/**
 * Returns why a prompt can't have these files, for people: its model doesn't take one, so that the run would fail, or the model would
 * never see it. Undefined if it takes all of them, or if that is unknown.
 */
async function refusalOf(
  client: Pick<Client, 'takes' | 'models'>,
  target: Parameters<Client['takes']>[0],
  files: readonly ReadFile[],
): Promise<string | undefined> {
  if (files.length === 0) return undefined
  // The prompt itself shows then what is wrong.
  const takes = await client.takes(target).catch(() => undefined)
  if (!takes) return undefined
  const refused = files.filter(({ kind }) => kind === undefined || !takes.includes(kind))
  if (refused.length === 0) return undefined
  const kinds = refused.flatMap(({ kind }) => kind ?? [])
  // No model reads files of other kinds.
  const models = kinds.length < refused.length ? [] : await client.models().catch(() => [])
  const hasOther = models.some((one) => kinds.every((kind) => one.takes?.includes(kind)))
  return texts.filesNotTaken(
    refused.map(({ file }) => plain(file.filename ?? file.mime)),
    takes,
    hasOther,
  )
}

/** A slash command of the agent: its name and its arguments. */
interface AgentCommand {
  readonly name: string
  readonly rest: string
}

/**
 * Returns the name of a command and the text behind it, which may be empty. Ignores white space around the text. Undefined for
 * a text that does not begin with a slash and a name.
 */
function parseAgentCommand(text: string): AgentCommand | undefined {
  const [, name, rest = ''] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? []
  return name === undefined ? undefined : { name, rest }
}

/** Returns a command of the agent. Undefined if the agent does not list it, or if the list can't be read. */
async function findAgentCommand(client: Client, name: string): Promise<CommandInfo | undefined> {
  try {
    return (await client.commands()).find((command) => command.name === name)
  } catch {
    return undefined
  }
}

/** Whether the reply failed because its session was deleted before the prompt could be posted. */
function isSessionGone({ outcome, error }: Reply): boolean {
  return outcome === 'failed' && error?.name === 'gone'
}
