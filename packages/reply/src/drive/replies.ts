import { createDispatcher, type Dispatcher } from '../dispatch.ts'
import type { OnError } from '../error.ts'
import type { ReplyObserver } from '../observer.ts'
import type { Reduction } from '../reduce/reduce.ts'
import { emptyReply } from '../reduce/shape.ts'
import type { Reply } from '../reply.ts'
import { diff } from '../track/diff.ts'
import type { TrackedStep } from '../track/state.ts'

/** The reply of a root session, whether open or settled, with its observers. */
export interface LiveReply {
  readonly sessionID: string
  readonly run: number
  /** The newest state. */
  readonly reply: () => Reply
  /**
   * Adds observers. They first receive everything so far, as one diff, or what is new since `seen`. Returns a function
   * that removes them.
   */
  observe(observers: readonly ReplyObserver[], seen?: Reply): () => void
  /** Calls the follower with each step from now on. Returns a function that removes it. */
  follow(follower: (step: Reduction) => void): () => void
}

export interface Replies {
  /** Calls the listener with each change of this type, in any root reply, after that reply's observers. */
  readonly on: Dispatcher['on']
  /**
   * Stores a step's reply and passes the step to the reply's followers, its observers and the `on` listeners. Opens the
   * reply if the step begins it. Ignores a late step of a reply that is no longer kept.
   */
  apply(step: TrackedStep): void
  /** The newest reply of a root session. Undefined if none is kept. */
  newest(sessionID: string): LiveReply | undefined
  /**
   * The newest kept reply of the session that includes this prompt, whether open or settled. Undefined if there is
   * none.
   */
  withPrompt(sessionID: string, messageID: string): LiveReply | undefined
  /** The newest kept reply of the session with a step that names this prompt. Undefined if there is none. */
  withAnswerTo(sessionID: string, messageID: string): LiveReply | undefined
  /** The replies that have not settled. */
  open(): readonly LiveReply[]
  /** Whether any reply has not settled. */
  hasOpen(): boolean
  /**
   * Calls the listener for each reply as it opens, with its first state, before its first change is dispatched. Returns
   * a function that removes it.
   */
  onOpened(listener: (live: LiveReply, reply: Reply) => void): () => void
}

interface Entry {
  reply: Reply
  readonly dispatcher: Dispatcher
  readonly followers: Set<(step: Reduction) => void>
  readonly live: LiveReply
  /** Adds the observers that were added during a step. They already received the step in their first diff. */
  addAfterStep?: (() => void)[] | undefined
}

/** Creates an empty list of replies. It keeps all open ones and the newest `keepSettled` settled ones. */
export function createReplies(onError: OnError, keepSettled: number): Replies {
  const entries = new Map<string, Entry>()
  const newestOf = new Map<string, Entry>()
  const open = new Set<Entry>()
  const settledKeys: string[] = []
  const listeners = new Set<(live: LiveReply, reply: Reply) => void>()
  const allReplies = createDispatcher({ onError })
  return {
    on: allReplies.on,
    apply,
    newest: (sessionID) => newestOf.get(sessionID)?.live,
    withPrompt: (sessionID, messageID) =>
      [...entries.values()].findLast(
        ({ live, reply }) => live.sessionID === sessionID && reply.promptIDs.includes(messageID),
      )?.live,
    withAnswerTo: (sessionID, messageID) =>
      [...entries.values()].findLast(
        ({ live, reply }) =>
          live.sessionID === sessionID && reply.messages.some(({ parentID }) => parentID === messageID),
      )?.live,
    open: () => [...open].map((entry) => entry.live),
    hasOpen: () => open.size > 0,
    onOpened: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  /**
   * Stores a step's reply, and passes the step to its followers, its observers and then the `on` listeners. Opens the
   * reply first if the step begins it. Observers that were added meanwhile are called from the next step on. Ignores a
   * late step of a settled reply that is no longer kept.
   */
  function apply(step: TrackedStep): void {
    const key = `${step.reply.sessionID} ${step.run}`
    const known = entries.get(key)
    // A late event of a reply that is no longer kept.
    if (!known && step.reply.phase === 'settled' && step.changes[0]?.type !== 'replyStarted') return
    const entry = known ?? openEntry(key, step)
    if (!known) for (const listener of listeners) listener(entry.live, step.reply)
    const addAfterStep: (() => void)[] = []
    entry.reply = step.reply
    entry.addAfterStep = addAfterStep
    for (const follower of [...entry.followers]) follower(step)
    entry.dispatcher.dispatch(step)
    allReplies.dispatch(step)
    entry.addAfterStep = undefined
    for (const addObservers of addAfterStep) addObservers()
    if (step.reply.phase === 'settled' && open.delete(entry)) keepSettledEntry(key)
  }

  /** Adds a reply as its session's newest, and as open. Its state is empty until the step is stored. */
  function openEntry(key: string, { reply, run }: TrackedStep): Entry {
    const { sessionID } = reply
    const dispatcher = createDispatcher({ onError })
    const followers = new Set<(step: Reduction) => void>()
    const live: LiveReply = {
      sessionID,
      run,
      reply: () => entry.reply,
      observe: (observers, seen) => observe(entry, observers, seen),
      follow: (follower) => {
        followers.add(follower)
        return () => followers.delete(follower)
      },
    }
    const entry: Entry = { reply: emptyReply(sessionID), dispatcher, followers, live }
    entries.set(key, entry)
    newestOf.set(sessionID, entry)
    open.add(entry)
    return entry
  }

  /**
   * Sends the observers everything since `seen` as one diff, and adds them once the step that is being dispatched has
   * ended. Returns a function that removes them, even before they are added.
   */
  function observe(
    entry: Entry,
    observers: readonly ReplyObserver[],
    seen: Reply = emptyReply(entry.reply.sessionID),
  ): () => void {
    const missed = diff(seen, entry.reply)
    const catchUp = createDispatcher({ onError })
    for (const observer of observers) catchUp.observe(observer)
    catchUp.dispatch({ reply: entry.reply, changes: missed })
    let stops: readonly (() => void)[] = []
    let isStopped = false
    /** Lets the observers receive later steps, unless they have been removed. */
    const addObservers = (): void => {
      if (!isStopped) stops = observers.map((observer) => entry.dispatcher.observe(observer))
    }
    if (entry.addAfterStep) entry.addAfterStep.push(addObservers)
    else addObservers()
    return () => {
      isStopped = true
      for (const stop of stops) stop()
    }
  }

  /**
   * Keeps a settled reply for late events, and drops the oldest one above `keepSettled`, also as its session's newest.
   */
  function keepSettledEntry(key: string): void {
    settledKeys.push(key)
    if (settledKeys.length <= keepSettled) return
    const oldest = settledKeys.shift() ?? key
    const entry = entries.get(oldest)
    entries.delete(oldest)
    if (entry && newestOf.get(entry.live.sessionID) === entry) newestOf.delete(entry.live.sessionID)
  }
}
