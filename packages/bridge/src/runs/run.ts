import {
  type Client,
  type PostedPrompt,
  type PromptFile,
  type PromptInput,
  type Reply,
  ReplyError,
  type ReplyObserver,
  type ReplyStream,
  type RunOptions,
} from '@reply/core'
import { mayActWithoutAsking } from '@reply/core/internal'
import type { CommandInfo } from '@reply/core/source'
import type { InboundFile } from '@reply/sink'
import type { BridgeConnection, Button } from '@reply/sink/channel'
import { pause, withResolvers } from '@reply/sink/internal'
import type { ChatMessage } from '../chats/channels.ts'
import { BridgeError, isTakenOver, messageOf } from '../error.ts'
import { keepUnknown } from '../failed/failure-rows.ts'
import { placeKey } from '../place.ts'
import type { FailedDelivery, Route } from '../state/decode.ts'
import { type Execution, endOf } from '../state/execution.ts'
import type { Write } from '../store/store.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import type { ActiveRun } from './active-runs.ts'
import type { BridgeContext } from './context.ts'
import type { RunObservers } from './ended-runs.ts'
import { closeShown } from './lost-runs.ts'
import { createRunEvents } from './run-events.ts'
import { isCutShort, shownBy, shownInMirrors } from './show-run.ts'

/** A run that is planned, or was begun by an earlier process. */
export interface PlannedRun {
  /** As it is stored. */
  readonly execution: Execution
  readonly route: Route
  readonly opencode: Client
  /** The place's own session and title when the run began. A reply to a message may have chosen another. */
  readonly chosen: string | undefined
  readonly title: string | undefined
}

export interface BeginOptions extends PlannedRun {
  readonly context: BridgeContext
  readonly shows: ActiveRun['shows']
  readonly held: RunObservers
  /** Whether the chat shows a reply already, as what its session does by itself. */
  readonly isShown: (reply: Reply) => boolean
  /** Called after the run got its reply. */
  readonly onReply: () => void
  /** Called when the run's session is known. */
  readonly onSession: (sessionID: string) => void
  /** The bridge is stopping: what is not written down yet is left to the next process. */
  readonly isStopping: () => boolean
}

/** Posts what was planned, or finds again what an earlier process posted, and follows it to its end. */
export function beginRun(options: BeginOptions): ActiveRun {
  const { context, opencode, shows, chosen, title, onSession, isStopping } = options
  const { state, registry, routes, channels, people, requireSafe, clock, asks, failed, onError } = context
  const { router } = context.config
  const { prompt, server } = options.execution
  /** Takes every prompt that begins with a slash for a command, and may list its commands only later, or never. */
  const isAgent = context.config.servers[server]?.agent !== undefined
  let { execution, route } = options
  let stream: ReplyStream | undefined
  let isCanceled = execution.isCanceled === true
  /** The session was gone, so a new one takes the prompt. */
  let isRenewed = false
  const found = withResolvers<void>()
  const canceled = withResolvers<void>()
  const delivered = withResolvers<void>()
  /** It joined a reply that is shown already. */
  let isShownElsewhere = false
  const events = createRunEvents({ ...context, execution })
  const ended = run()
  return {
    execution: () => execution,
    shows,
    stream: () => stream,
    shown: events.shown,
    cancel,
    found: found.promise,
    delivered: delivered.promise,
    ended,
  }

  async function run(): Promise<void> {
    const unfollow = registry.follow(execution, () => stream?.reply)
    try {
      await begin()
    } catch (error) {
      if (!isStopping() && !isTakenOver(error)) await fail(error).catch(onError)
    } finally {
      found.resolve()
      delivered.resolve()
      unfollow()
    }
  }

  async function begin(): Promise<void> {
    if (isCanceled && execution.posted === undefined) return await end('Aborted', 'stopped')
    stream = execution.posted === undefined ? await post() : await find(execution.posted)
    if (!stream) return
    found.resolve()
    if (isCanceled) void opencode.abort(stream).catch(onError)
    let reply = await stream.result
    if (isStopping()) return
    if (execution.phase === 'planned' && isGone(reply)) {
      isRenewed = true
      route = { ...route, sessionID: undefined }
      await channels.notify(prompt, { text: texts.sessionGone, replyTo: prompt.messageRef }, 'next')
      stream = await post()
      if (!stream) return
      reply = await stream.result
      if (isStopping()) return
    }
    await settle(reply)
  }

  async function post(): Promise<ReplyStream | undefined> {
    // The list may have changed since the prompt was written, also between two processes.
    if (!people.mayAll(prompt, 'prompt')) return await endWith(texts.rightGone, texts.mayNot('prompt'))
    const { sessionID, agent, model } = route
    const guarded = mustBeGuarded()
    const target = { sessionID, title: route.title, agent, model, guarded }
    const command = prompt.isCommand || isAgent ? agentCommandOf(prompt.text) : undefined
    const known = command && (await agentCommand(opencode, command.name))
    if (command && (known || isAgent) && isUnasked(command, known))
      return await endWith(texts.unaskedCommand, texts.mayNot('approve'))
    if (guarded && !(await isGuarded({ agent, command: known?.name })))
      return await endWith(texts.unguarded, texts.mayNot('approve'))
    if (isCanceled) return await end('Aborted', 'stopped')
    if (command && known) {
      if (prompt.files.length > 0) await say({ text: texts.commandHasNoFiles })
      const run = runOptions(guarded)
      const onPosting = async (posted: PostedPrompt): Promise<void> => {
        // The server may have been restarted since, with another template.
        if (isUnasked(command, await agentCommand(opencode, command.name)))
          throw new BridgeError('inbound', texts.unaskedCommand)
        await run.onPosting?.(posted)
      }
      return opencode.command({ ...target, command: command.name, arguments: command.rest }, { ...run, onPosting })
    }
    const files = await readFiles(channels.of(prompt.channel), prompt.files, router.maxFileBytes)
    if (isCanceled) return await end('Aborted', 'stopped')
    if (!people.mayAll(prompt, 'prompt')) return await endWith(texts.rightGone, texts.mayNot('prompt'))
    return opencode.prompt({ ...target, text: prompt.text, files }, runOptions(guarded))
  }

  /** The words of one person who may not approve are enough. */
  function mustBeGuarded(): boolean {
    return context.config.servers[server]?.trustPrompt !== true && !people.mayAll(prompt, 'approve')
  }

  /** The cure is the operator's matter, so the log has it. */
  async function isGuarded(target: Parameters<Client['requireGuard']>[0]): Promise<boolean> {
    try {
      await Promise.race([opencode.requireGuard(target), canceled.promise])
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

  /** Whether the person's words could have the server run or read something without asking, which this person may not. */
  function isUnasked({ name, rest }: AgentCommand, known: CommandInfo = { name }): boolean {
    return mayActWithoutAsking(known, rest) && !people.mayAll(prompt, 'approve')
  }

  function runOptions(guarded = mustBeGuarded()): RunOptions {
    const watch = asks.observerFor({ place: prompt, opencode, server })
    const shown = shownBy(shows, {
      asks: !router.progress.enabled,
      // Another session takes its place once, and the chat is told so.
      isLeftOut: (reply) => !isRenewed && execution.phase === 'planned' && isGone(reply),
      onError,
    })
    // What joined a run is shown by that run's own sink.
    const observe = (reply: Reply): readonly ReplyObserver[] => {
      queueMicrotask(options.onReply)
      isShownElsewhere = isJoined(reply) && (execution.isSteer === true || options.isShown(reply))
      return isShownElsewhere ? [] : options.held.hold([...shown, watch, events.observer])
    }
    return { timeoutMs: router.timeoutMs, onPosting: async (posted) => await onPosting(posted, guarded), observe }
  }

  /** Whether another prompt began the run. A run that is found again is observed before its stream is known. */
  function isJoined({ promptIDs }: Reply): boolean {
    if (stream) return stream.joined === true
    const id = execution.posted?.messageID
    return id !== undefined && promptIDs[0] !== id
  }

  async function onPosting(posted: PostedPrompt, guarded: boolean): Promise<void> {
    // It may have waited long for its turn.
    if (!people.mayAll(prompt, 'prompt') || (!guarded && mustBeGuarded())) throw new Error(texts.rightGone)
    const { sessionID, directory } = posted
    await requireSafe(server, directory)
    onSession(sessionID)
    const now = await routes.of(prompt)
    // A person may have chosen another session, agent or model meanwhile.
    const isChosen = now?.sessionID !== chosen || now?.title !== title
    const used =
      isChosen && now
        ? routes.note(prompt, { server, sessionID })
        : routes.use(prompt, { ...(now ?? route), server, sessionID })
    await update({ phase: 'posting', posted, sessionID }, used)
    await context.lease.hold()
  }

  async function find(posted: PostedPrompt): Promise<ReplyStream | undefined> {
    onSession(posted.sessionID)
    const found = await resume(posted)
    switch (found.type) {
      case 'found':
        events.found(execution)
        return found.stream
      case 'absent':
        // After its end, only the showing was left, and there is nothing to show any more.
        if (execution.phase === 'delivering') return await finish()
        await update({ phase: 'planned', posted: undefined })
        return await post()
      case 'unknown':
        await state.persist(() => state.commit([keepUnknown(execution, clock.now())]))
        void failed.count().catch(onError)
        await closeShown(context, { ...execution, reason: texts.lostSight }, shows)
        return await endWith(texts.unknownRun, 'Unknown after a restart', unknownButtons(execution))
    }
    return found satisfies never
  }

  /** The server may start later than the bridge. */
  async function resume(posted: PostedPrompt): ReturnType<Client['resume']> {
    for (;;) {
      try {
        // What has ended was told how it did, and does not begin again.
        const canRepeat = execution.phase === 'posting' && posted.text !== undefined
        return await opencode.resume(posted, {
          ...runOptions(),
          again: canRepeat ? async () => await promptAgain(posted) : undefined,
        })
      } catch (error) {
        const type = error instanceof Error && 'type' in error ? error.type : undefined
        if (type === 'gone') throw new Error(texts.lostSession, { cause: error })
        if (type !== 'unreachable' || isStopping()) throw error
        await pause(clock, againMs)
      }
    }
  }

  /** The server has stored the prompt, but was killed before it ran. */
  async function promptAgain({ sessionID, directory }: PostedPrompt): Promise<PromptInput> {
    const files = await readFiles(channels.of(prompt.channel), prompt.files, router.maxFileBytes)
    if (isCanceled) throw new BridgeError('inbound', texts.canceled)
    if (!people.mayAll(prompt, 'prompt')) throw new BridgeError('inbound', texts.rightGone)
    await requireSafe(server, directory)
    const { agent, model } = route
    return { sessionID, agent, model, guarded: mustBeGuarded(), text: prompt.text, files }
  }

  async function settle(reply: Reply): Promise<void> {
    const log = registry.writeLog(execution)
    if (execution.isSteer && !stream?.joined) await update({ isSteer: undefined })
    if (execution.phase !== 'delivering') {
      const [promptID] = reply.promptIDs
      const authors = stream?.joined || promptID === undefined ? [] : [routes.writeAuthor(promptID, prompt)]
      await update({ phase: 'delivering', ...endOf(reply), finishedAt: clock.now() }, [log, ...authors])
    }
    if (execution.isSteer || isShownElsewhere) return isStopping() ? undefined : void (await finish())
    const own = await shows[0].sink.settled()
    // What it does not show is shown by the next process.
    if (isStopping() || isCutShort(own)) return
    events.delivered(execution, own)
    delivered.resolve()
    const shown = [{ place: shows[0], delivery: own }, ...(await shownInMirrors(shows, clock))]
    if (!isStopping()) await finish(failed.of(execution, stream?.reply ?? reply, shown))
  }

  async function end(reason: string, status: 'stopped' | 'error' = 'error'): Promise<undefined> {
    await update({ phase: 'done', status, reason, finishedAt: clock.now() })
    return undefined
  }

  async function finish(missing: readonly FailedDelivery[] = []): Promise<undefined> {
    const isMissing = missing.some((one) => placeKey(one) === placeKey(prompt))
    await update({ phase: isMissing ? 'undelivered' : 'done' }, failed.keep(missing))
    failed.kept(missing)
    return undefined
  }

  async function fail(error: unknown): Promise<void> {
    const reason = chatMessageOf(error)
    const text =
      error instanceof FileFailure ? texts.fileFailed(plain(error.file), plain(reason)) : texts.failed(plain(reason))
    // Found again after a restart, its message may still say that it is at work. The next process closes it otherwise.
    if (stream === undefined && execution.posted)
      await update({ phase: 'delivering', status: 'error', reason, finishedAt: clock.now() })
    const closed = stream === undefined ? await closeShown(context, execution, shows) : undefined
    if (closed && isCutShort(closed.delivery)) return
    if (closed) await finish(failed.of(execution, closed.reply, [{ place: shows[0], delivery: closed.delivery }]))
    else await endWith(text, reason)
    onError(error instanceof Error ? error : new Error(reason))
  }

  /** Ends the run with words in place of an answer. They are written down with its end, and so not lost with the process. */
  async function endWith(text: string, reason: string, buttons?: ChatMessage['buttons']): Promise<undefined> {
    const owed = failed.owed(execution, text)
    await update({ phase: 'undelivered', status: 'error', reason, finishedAt: clock.now() }, failed.keep([owed]))
    const onPosted = async (writes: readonly Write[]): Promise<void> => await update({ phase: 'done' }, writes)
    await failed.say(owed, { replyTo: prompt.messageRef, buttons }, onPosted)
    return undefined
  }

  async function say(saying: ChatMessage): Promise<void> {
    const { sessionID } = execution
    await channels.notify(prompt, saying, sessionID === undefined ? undefined : { server, sessionID })
  }

  async function update(change: Partial<Execution>, more: Parameters<typeof state.commit>[0] = []): Promise<void> {
    const before = execution
    execution = { ...execution, ...change }
    const writes = [registry.write(execution), ...more]
    await state.persist(() => state.commit(writes))
    events.changed(before, execution)
  }

  async function cancel(): Promise<void> {
    isCanceled = true
    canceled.resolve()
    await update({ isCanceled: true })
    if (stream) await opencode.abort(stream)
  }
}

/** How long to wait before a server that is down is asked again, in ms. */
const againMs = 1000

/** A file that could not be read: `name` is the file's. */
class FileFailure extends Error {
  readonly file: string

  constructor(file: string, cause: unknown) {
    super(messageOf(cause), { cause })
    this.name = 'FileFailure'
    this.file = file
  }
}

/** Reads what a person sent with a prompt. Rejects with a `FileFailure`. */
async function readFiles(
  connection: Pick<BridgeConnection, 'download'>,
  files: readonly InboundFile[],
  maxBytes: number,
): Promise<readonly PromptFile[]> {
  return await Promise.all(
    files.map(async (file) => {
      try {
        const bytes = await connection.download(file, { maxBytes })
        const url = `data:${file.mime};base64,${Buffer.from(bytes).toString('base64')}`
        return { url, mime: file.mime, filename: file.name }
      } catch (cause) {
        throw new FileFailure(file.name, cause)
      }
    }),
  )
}

/** A slash command of the agent: its name and what follows. */
interface AgentCommand {
  readonly name: string
  readonly rest: string
}

function agentCommandOf(text: string): AgentCommand | undefined {
  const [, name, rest = ''] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? []
  return name === undefined ? undefined : { name, rest }
}

/** The agent's command of that name. Undefined if there is none, or the server doesn't list any: it gets the words as they are. */
async function agentCommand(opencode: Client, name: string): Promise<CommandInfo | undefined> {
  try {
    return (await opencode.commands()).find((command) => command.name === name)
  } catch {
    return undefined
  }
}

/** The buttons with which its person decides. */
function unknownButtons({ id }: Execution): readonly (readonly Button[])[] {
  return [
    [
      { label: texts.runAgain, data: `b/again/${id}` },
      { label: texts.dropIt, data: `b/leave/${id}` },
    ],
  ]
}

/** The session was deleted before the prompt could be posted. */
function isGone({ outcome, error }: Reply): boolean {
  return outcome === 'failed' && error?.name === 'gone'
}
