import type { PermissionReply } from '../../ask.ts'
import { ReplyError } from '../../error.ts'
import type { AskClosedEvent, ReplyEvent } from '../../event.ts'
import type { SessionRef } from '../../session-ref.ts'
import { sentenceOf } from '../../text/sentence.ts'
import type { InputPart } from '../input.ts'
import type { AskList } from '../server-data.ts'
import { createMessages, lastMessage } from './messages.ts'
import type { LocalAnswer, LocalAsk, LocalEnding, LocalOutput } from './output.ts'

/** One run of a session: what a prompt started, or a sub-agent. Calls after its end do nothing. */
export interface LocalRun extends SessionRef {
  /** The id of the message that it answers. */
  readonly promptID: string
  /** Whether it has not ended. */
  isOpen(): boolean
  /** Says what the agent said, in order. The first call sends the prompt's message before it. */
  write(...outputs: readonly LocalOutput[]): void
  /** Asks a person. The reply is blocked until the ask is answered or closed. */
  ask(ask: LocalAsk): void
  /** The agent withdrew an ask. Its `reply` is not called. */
  closeAsk(requestID: string): void
  /**
   * A sub-agent begins, in a session of its own. The call that started it is shown with it if its `tool` output has the
   * name `task` and names that session in `state.metadata.sessionId`.
   */
  child(start: LocalChildStart): LocalRun
  /** Ends it: the sub-agents and asks that are open first. */
  end(ending: LocalEnding): void
}

/** A sub-agent that begins. */
export interface LocalChildStart {
  /** Default: a new id. */
  readonly sessionID?: string | undefined
  /** Its task in a few words. */
  readonly title?: string | undefined
  /** What it was asked. Default: nothing. */
  readonly text?: string | undefined
}

type Pending = AskList['asks'][number]

export interface RunOptions extends SessionRef {
  readonly promptID: string
  readonly nextID: () => string
  readonly now: () => number
  /** Removes secrets from the words of failures and retries. */
  readonly redact: (text: string) => string
  readonly emit: (events: readonly ReplyEvent[]) => void
  /** Makes the sub-agent's session and run, which has begun. */
  readonly startChild: (start: LocalChildStart) => OwnedRun
  /** Called once, before its last events are sent. */
  readonly onEnd: () => void
}

/** A run, as the source has it. */
export interface OwnedRun extends LocalRun {
  hasBegun(): boolean
  /** Sends the prompt's message and that the session is busy; once. Output does so too. */
  begin(): void
  setPrompt(parts: readonly InputPart[]): void
  asks(): readonly Pending[]
  /** Answers a pending ask. Rejects with `gone` if none has this id. */
  answer(requestID: string, answer: LocalAnswer): Promise<void>
  /** Tells the agent that all that is pending in it and below will not be answered. */
  cancelAsks(): void
}

export function createRun(options: RunOptions): OwnedRun {
  const { sessionID, directory, promptID, nextID, now, emit, redact } = options
  const messages = createMessages(options)
  const pending = new Map<string, { readonly given: LocalAsk; readonly ask: Pending }>()
  const children: OwnedRun[] = []
  let prompt: readonly InputPart[] = []
  let state: 'new' | 'running' | 'over' = 'new'
  let isRetrying = false
  let compactionID: string | undefined
  const own: OwnedRun = {
    sessionID,
    directory,
    promptID,
    hasBegun: () => state !== 'new',
    isOpen: () => state !== 'over',
    begin,
    setPrompt: (parts) => {
      prompt = parts
    },
    write,
    ask,
    closeAsk: (requestID) => void close(requestID, { type: 'gone' }),
    asks: () => [...pending.values()].map((one) => one.ask),
    answer,
    cancelAsks,
    child,
    end,
  }
  return own

  function begin(): void {
    if (state !== 'new') return
    state = 'running'
    const message = { id: promptID, role: 'user', summary: false, createdAt: now(), raw: undefined } as const
    const parts = prompt.map((part, at) => promptPart(part, at)).filter((part) => part !== undefined)
    emit([event({ type: 'message', message }), ...parts, event({ type: 'status', status: 'busy' })])
  }

  function promptPart(part: InputPart, at: number): ReplyEvent | undefined {
    const fields = { id: `${promptID}.${at + 1}`, messageID: promptID, status: 'sealed', raw: undefined } as const
    if (part.type === 'text') return event({ type: 'part', part: { ...fields, type: 'text', text: part.text } })
    if (part.type !== 'file') return undefined
    const { mime, url, filename } = part
    return event({ type: 'part', part: { ...fields, type: 'file', mime, url, filename } })
  }

  function write(...outputs: readonly LocalOutput[]): void {
    if (state === 'over') return
    begin()
    const events = outputs.flatMap((output) => {
      const resumed = isRetrying && output.type !== 'retry' ? [event({ type: 'status', status: 'busy' })] : []
      isRetrying = output.type === 'retry'
      return [...resumed, ...eventsOf(output)]
    })
    if (events.length > 0) emit(events)
  }

  function eventsOf(output: LocalOutput): readonly ReplyEvent[] {
    switch (output.type) {
      case 'text':
      case 'reasoning':
      case 'tool':
      case 'file':
      case 'usage':
        return messages.put(output)
      case 'seal':
        return messages.seal(output.raw)
      case 'message':
        return messages.begin({ id: output.messageID, agent: output.agent, model: output.model })
      case 'todos':
        return [event({ type: 'todos', todos: output.todos, ...(!output.isRead && { isOwn: true }) })]
      case 'title':
        return [event({ type: 'session', title: output.title })]
      case 'context-limit':
        return [event({ type: 'context-limit', contextLimit: output.contextLimit })]
      case 'retry': {
        const { attempt, message, nextAt } = output
        return [event({ type: 'retry', attempt, message: sentenceOf(redact(message)), nextAt })]
      }
      case 'compaction':
        return compactionEvents(output.state, output.auto)
      default:
        return output satisfies never
    }
  }

  function compactionEvents(to: 'started' | 'done' | 'failed', auto: boolean): readonly ReplyEvent[] {
    const known = compactionID
    compactionID = undefined
    if (to === 'done') return [event({ type: 'compacted' })]
    if (to === 'failed')
      return known === undefined ? [] : [event({ type: 'part-removed', messageID: known, partID: `${known}.1` })]
    const id = nextID()
    compactionID = id
    const message = { id, role: 'user', summary: false, createdAt: now(), raw: undefined } as const
    const part = { id: `${id}.1`, messageID: id, status: 'sealed', raw: undefined, type: 'compaction', auto } as const
    return [event({ type: 'message', message }), event({ type: 'part', part })]
  }

  function ask(given: LocalAsk): void {
    if (state === 'over') return
    begin()
    const { reply: _, ...content } = given
    const fields = { sessionID, directory, path: [sessionID], status: 'pending', askedAt: now() } as const
    const asked: Pending = { ...fields, ...content }
    pending.set(given.requestID, { given, ask: asked })
    emit([event({ type: 'asked', ask: asked })])
  }

  function close(requestID: string, how: AskClosedEvent['how']): void {
    if (pending.delete(requestID)) emit([event({ type: 'ask-closed', requestID, how })])
  }

  async function answer(requestID: string, given: LocalAnswer): Promise<void> {
    const found = pending.get(requestID)
    if (!found)
      throw new ReplyError('gone', `The ask ${requestID} is not pending any more; there is nothing to answer.`)
    pending.delete(requestID)
    try {
      await found.given.reply(given)
    } catch (error) {
      // It was not taken, so it can be answered again.
      if (state !== 'over') pending.set(requestID, found)
      throw error
    }
    emit([event({ type: 'ask-closed', requestID, how: howOf(found.ask, given) })])
  }

  function cancelAsks(): void {
    for (const each of children) each.cancelAsks()
    for (const [requestID, { given }] of [...pending]) {
      // The run is over or about to be: an agent that can't take the answer changes nothing.
      void Promise.resolve(given.reply({ type: 'canceled' })).catch(() => {})
      close(requestID, given.type === 'permission' ? { type: 'permission', reply: 'reject' } : { type: 'rejected' })
    }
  }

  function child(start: LocalChildStart): LocalRun {
    begin()
    const made = options.startChild(start)
    children.push(made)
    return made
  }

  function end(ending: LocalEnding): void {
    if (state === 'over') return
    begin()
    for (const each of children) each.end(ending)
    cancelAsks()
    state = 'over'
    options.onEnd()
    // Idle during a retry would count as stopped; the agent said how it ended.
    const resumed = isRetrying ? [event({ type: 'status', status: 'busy' })] : []
    emit([...resumed, ...messages.end(lastMessage(ending, redact)), event({ type: 'status', status: 'idle' })])
  }

  function event<const T extends { readonly type: ReplyEvent['type'] }>(what: T) {
    return { sessionID, directory, at: now(), ...what }
  }
}

function howOf({ type }: Pending, answer: LocalAnswer): AskClosedEvent['how'] {
  if (answer.type === 'answered') return { type: 'answered', answers: answer.answers }
  if (type === 'question') return { type: 'rejected' }
  const reply: PermissionReply = answer.type === 'once' || answer.type === 'always' ? answer.type : 'reject'
  return { type: 'permission', reply }
}
