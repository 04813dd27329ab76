import {
  type Ask,
  type Child,
  type Client,
  type Clock,
  type OnError,
  observerOf,
  type Part,
  type Reply,
  ReplyError,
} from '@reply/core'
import { pause } from '@reply/core/internal'
import type { LocalAnswer, LocalAsk, LocalEnding, LocalOutput, LocalRun } from '@reply/core/source'
import type { RunHooks } from './source.ts'

/** How long the end of a run waits for pending events of its sub-agents, in ms. */
const lagMs = 2000

/**
 * Copies what OpenCode's ACP leaves out from its own server: questions, and sub-agents with all they do. `server` returns
 * undefined until the server was started. A run that starts before is not copied.
 */
export function createMirror(server: () => Client | undefined, clock: Clock, onError: OnError | undefined): RunHooks {
  return { runStarting }

  /**
   * Begins to copy a run that is about to start. `link` links a call of the run to a sub-agent's session, and returns whether
   * ACP has reported the call. Returns a function that waits for what is left, up to `lagMs`, and stops copying.
   */
  function runStarting(run: LocalRun, link: (callID: string, sessionID: string) => boolean): () => Promise<void> {
    const opencode = server()
    if (!opencode) return async () => {}
    /** Ids of asks that were copied, and of those that were answered here: the server reports these, too. */
    const asked = new Set<string>()
    const closed = new Set<string>()
    const linked = new Set<string>()
    const runs = new Map<string, LocalRun>()
    const written = new Map<string, number | Part>()
    let newest: Reply | undefined
    let hasEnded = false
    let onUpdate = (): void => {}
    const stop = opencode.watch({ sessionID: run.sessionID }, { observe: (reply) => [show(reply)] })
    return async () => {
      if (newest && newest.children.length > 0) await waitUntilSettled()
      hasEnded = true
      stop()
    }

    /**
     * Copies a reply of the session, and returns an observer that copies its further versions. The first reply is copied at
     * once.
     */
    function show(reply: Reply) {
      if (newest === undefined) update(reply)
      return observerOf(({ reply: next }) => update(next))
    }

    /**
     * Copies what is new in a version of the reply: sub-agents, their output, asks, and ends. Does nothing after the run has
     * ended.
     */
    function update(reply: Reply): void {
      if (hasEnded) return
      newest = reply
      copyChildren(run, reply)
      for (const ask of reply.asks) copyAsk(ask)
      endChildren(reply)
      onUpdate()
    }

    /** Begins a run for each sub-agent that has begun, at any depth, and writes what is new of it. */
    function copyChildren(parent: LocalRun, { children }: Reply): void {
      for (const [at, child] of children.entries()) {
        if (child.reply.phase === 'waiting') continue
        const copy = runOf(parent, child, at)
        linkCall(parent, child)
        for (const message of child.reply.messages)
          for (const part of message.parts) copy.write(...outputsOf(part, message.id))
        copyChildren(copy, child.reply)
      }
    }

    /**
     * Links the call that started a sub-agent of the run, once, as soon as ACP has reported the call too. Does nothing for
     * sub-agents of sub-agents, whose calls come from the server only, and for those without a call.
     */
    function linkCall(parent: LocalRun, { callID, reply }: Child): void {
      if (parent !== run || callID === undefined || linked.has(callID)) return
      if (link(callID, reply.sessionID)) linked.add(callID)
    }

    /**
     * Returns the run of a sub-agent, by its place among its parent's. Begins it if it is new: a session that runs again for
     * another call becomes another child of its parent.
     */
    function runOf(parent: LocalRun, { title, reply }: Child, index: number): LocalRun {
      const key = `${parent.sessionID} ${index}`
      const known = runs.get(key)
      if (known) return known
      const made = parent.child({ sessionID: reply.sessionID, title, text: reply.prompt?.text })
      runs.set(key, made)
      return made
    }

    /**
     * Returns what is new of a sub-agent's part: a call if it has changed, or what a text has grown by. Empty for parts of
     * other types.
     */
    function outputsOf(part: Part, messageID: string): readonly LocalOutput[] {
      const before = written.get(part.id)
      if (part.type === 'tool') {
        if (before === part) return []
        written.set(part.id, part)
        const { callID, tool, state, raw } = part
        return [{ type: 'tool', callID: `${messageID}.${callID}`, tool, state, messageID, raw }]
      }
      if (part.type !== 'text' && part.type !== 'reasoning') return []
      const length = typeof before === 'number' ? before : 0
      written.set(part.id, part.text.length)
      const delta = part.text.slice(length)
      return delta === '' ? [] : [{ type: part.type, delta, messageID, raw: part.raw }]
    }

    /**
     * Opens a pending ask once, or closes it if it was answered elsewhere. Skips the root's own permissions, which come over
     * ACP, and asks of sub-agents without a run.
     */
    function copyAsk(ask: Ask): void {
      const isOwn = ask.sessionID === run.sessionID
      if (isOwn && ask.type === 'permission') return
      const target = isOwn ? run : [...runs.values()].findLast(({ sessionID }) => sessionID === ask.sessionID)
      if (!target) return
      const { requestID, status } = ask
      if (status !== 'pending') {
        if (asked.has(requestID) && !closed.has(requestID)) target.closeAsk(requestID)
        closed.add(requestID)
        return
      }
      if (asked.has(requestID)) return
      asked.add(ask.requestID)
      const callID = isOwn || ask.callID === undefined ? ask.callID : `${ask.messageID}.${ask.callID}`
      target.ask({
        ...contentOf(ask),
        requestID: ask.requestID,
        callID,
        reply: async (answer) => await reply(ask, answer),
      })
    }

    /**
     * Sends a person's answer to OpenCode. A cancel rejects the ask, because an abort leaves permissions pending, and a call
     * that is allowed later would still run. Rejects if OpenCode does, and then the ask can be closed again.
     */
    async function reply(ask: Ask, answer: LocalAnswer): Promise<void> {
      closed.add(ask.requestID)
      // The newest version, because its call may have become known since.
      const now = newest?.asks.find(({ requestID }) => requestID === ask.requestID) ?? ask
      try {
        // An abort leaves permissions pending, and a call that is allowed later would still run.
        if (answer.type === 'canceled') await opencode?.reject(now)
        else if (answer.type === 'rejected') await opencode?.reject(now, answer.message)
        else if (answer.type === 'answered') await opencode?.answer(now, answer.answers)
        else await opencode?.answer(now, answer.type)
      } catch (error) {
        closed.delete(ask.requestID)
        throw error
      }
    }

    /** Ends the runs of all sub-agents that have settled, the innermost first. */
    function endChildren(reply: Reply): void {
      for (const [at, child] of reply.children.entries()) {
        endChildren(child.reply)
        if (child.reply.phase === 'settled') runs.get(`${reply.sessionID} ${at}`)?.end(endingOf(child.reply))
      }
    }

    /** Resolves when OpenCode's reply has settled. After `lagMs` reports `unreachable` to `onError` and resolves too. */
    async function waitUntilSettled(): Promise<void> {
      const late = new AbortController()
      onUpdate = () => {
        if (newest?.phase === 'settled') late.abort()
      }
      onUpdate()
      await pause(clock, lagMs, late.signal)
      if (newest?.phase !== 'settled')
        onError?.(
          new ReplyError(
            'unreachable',
            `OpenCode ended a run, but its sub-agents did not end within ${lagMs} ms. Their parts may be incomplete.`,
          ),
        )
    }
  }
}

/** Returns an ask for the run, without its id, call and reply, which the caller adds. */
function contentOf(
  ask: Ask,
):
  | Omit<Extract<LocalAsk, { type: 'question' }>, 'requestID' | 'reply'>
  | Omit<Extract<LocalAsk, { type: 'permission' }>, 'requestID' | 'reply'> {
  if (ask.type === 'question') return { type: 'question', questions: ask.questions }
  const { permission, patterns, always, title, metadata } = ask
  return { type: 'permission', permission, patterns, always, title, metadata }
}

/**
 * Returns how a sub-agent's run ends. A stopped one has completed with its finish. One without an error that was neither
 * completed nor stopped is aborted.
 */
function endingOf({ outcome, error, finish }: Reply): LocalEnding {
  if (outcome === 'failed' && error) return { type: 'failed', error }
  return outcome === 'completed' || outcome === 'stopped' ? { type: 'completed', finish } : { type: 'aborted' }
}
