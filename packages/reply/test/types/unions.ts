import type { Change, ChangeType, Observation, Part, Reply, ReplyObserver } from '@reply/core'
import type { ChangeOf } from '../../src/change.ts'
import type { SessionScopedEvent } from '../../src/event.ts'
import type { Expect, Same } from './same.ts'

/** What must and must not compile for users of our unions. */

export type OneMethodAChange = Expect<Same<keyof ReplyObserver, ChangeType>>
export type EachMethodGetsItsChange = Expect<
  Same<ReplyObserver, { readonly [T in ChangeType]?: (observation: Observation<ChangeOf<T>>) => unknown }>
>
// biome-ignore lint/complexity/noBannedTypes: an object without any method, which must be an observer
export type EveryMethodIsOptional = Expect<{} extends ReplyObserver ? true : false>
export type MethodsGetOneFlatObject = Expect<
  Same<
    Parameters<NonNullable<ReplyObserver['partChanged']>>,
    [ChangeOf<'partChanged'> & { readonly reply: Reply; readonly raw?: unknown }]
  >
>
export type ObservationsKeepTheirFields = Expect<
  Observation<ChangeOf<'replySettled'>>['outcome'] extends string ? true : false
>
export type NoChangeHasAFieldCalledReply = Expect<Same<Extract<Change, { reply: unknown }>, never>>

export class AnyClass implements ReplyObserver {
  partAdded({ part, index, reply }: Observation<ChangeOf<'partAdded'>>): string {
    return `${part.id} ${index} ${reply.phase}`
  }
}

export const literal: ReplyObserver = {
  partChanged: ({ part, delta }) => `${part.id} ${delta}`,
  childChanged: async ({ child, change }) => `${child.agent} ${change.type}`,
}

export const misspelt: ReplyObserver = {
  // @ts-expect-error there is no such change
  partGrown: () => {},
}

export function settled(reply: Reply): void {
  // @ts-expect-error a reply is never written to
  reply.phase = 'settled'
  // @ts-expect-error nor are its lists
  reply.messages.push()
}

export function everyPartButOne(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'tool':
    case 'file':
    case 'patch':
    case 'step-start':
    case 'step-finish':
    case 'snapshot':
    case 'subtask':
    case 'agent':
    case 'retry':
    case 'compaction':
      return part.id
    default:
      // @ts-expect-error the unknown part has no case
      return part satisfies never
  }
}

export function everyChangeButOne(change: Change): string {
  switch (change.type) {
    case 'replyStarted':
    case 'phaseChanged':
    case 'messageUpdated':
    case 'messageRemoved':
    case 'partAdded':
    case 'partChanged':
    case 'partFinalized':
    case 'partRemoved':
    case 'toolProgressed':
    case 'stepFinished':
    case 'todosChanged':
    case 'usageChanged':
    case 'questionAsked':
    case 'questionReplied':
    case 'questionRejected':
    case 'permissionAsked':
    case 'permissionReplied':
    case 'askChanged':
    case 'askWithdrawn':
    case 'sessionRetried':
    case 'sessionErrored':
    case 'compactionChanged':
    case 'childStarted':
    case 'childChanged':
    case 'childSettled':
    case 'connectionChanged':
    case 'stalledChanged':
    case 'replySettled':
      return change.type
    default:
      // @ts-expect-error replyAmended has no case
      return change satisfies never
  }
}

export function everyEventButOne(event: SessionScopedEvent): string {
  switch (event.type) {
    case 'session':
    case 'session-removed':
    case 'message':
    case 'message-removed':
    case 'part':
    case 'part-removed':
    case 'delta':
    case 'status':
    case 'retry':
    case 'error':
    case 'compacted':
    case 'todos':
    case 'asked':
    case 'ask-closed':
    case 'snapshot':
    case 'settle':
    case 'opened':
    case 'abort-requested':
    case 'stalled':
    case 'connection':
    case 'child':
      return event.type
    default:
      // @ts-expect-error context-limit has no case
      return event satisfies never
  }
}
