import { systemClock } from '@reply/core'
import {
  type Demand,
  edit,
  failureOf,
  must,
  mustBeLimited,
  post,
  readsAs,
  remove,
  type StageFault,
  settledInStageTime,
  textsOn,
  until,
} from './stage.ts'

const supports =
  (fault: StageFault): NonNullable<Demand['needs']> =>
  ({ faults }) =>
    faults.includes(fault)

/** How a port reports failures. The sink handles each by its type. */
export const faults = [
  {
    name: 'reports a rate limit with the time to wait',
    needs: supports('rate-limited'),
    run: async (stage) => {
      stage.failNext('rate-limited')
      mustBeLimited(stage, await failureOf(post(stage, 'Too soon.')))
      must(stage.screen().length === 0, 'A message was posted anyway.')
    },
  },
  {
    name: 'reports a refusal',
    needs: supports('refused'),
    run: async (stage) => {
      stage.failNext('refused')
      const { type } = await failureOf(post(stage, 'Not here.'))
      must(type === 'refused', `The error type is ${type}.`)
    },
  },
  {
    name: 'reports a call that did not arrive',
    needs: supports('unreachable'),
    run: async (stage) => {
      stage.failNext('unreachable')
      const { type } = await failureOf(post(stage, 'Unreachable.'))
      must(type === 'unreachable', `The error type is ${type}.`)
      must(stage.screen().length === 0, 'A message was posted anyway.')
    },
  },
  {
    name: 'reports a post with an unknown result',
    needs: supports('unanswered'),
    run: async (stage) => {
      stage.failNext('unanswered')
      const { type } = await failureOf(post(stage, 'Perhaps.'))
      must(type === 'ambiguous', `The error type is ${type}.`)
      must(stage.screen().length === 1, 'The port retried on its own.')
    },
  },
  {
    name: 'shows an unconfirmed post once when it is retried with its key',
    needs: (stage) => supports('unanswered')(stage) && stage.port.limits.idempotent,
    run: async (stage) => {
      stage.failNext('unanswered')
      await failureOf(post(stage, 'Perhaps.', { key: 'again' }))
      await post(stage, 'Perhaps.', { key: 'again' })
      must(stage.screen().length === 1, `The same key created ${stage.screen().length} messages.`)
    },
  },
  {
    name: 'finds a post with an unknown result, or resolves with unknown',
    needs: (stage) => supports('unanswered')(stage) && stage.port.lookUp !== undefined,
    run: async (stage) => {
      const since = (stage.clock ?? systemClock).now()
      stage.failNext('unanswered')
      await failureOf(post(stage, 'Perhaps.', { key: 'unsure' }))
      const options = { chat: stage.chat, signal: new AbortController().signal, kind: 'message', since } as const
      const lookUp = async (key: string) =>
        await settledInStageTime(stage, Promise.resolve(stage.port.lookUp?.({ ...options, key })))
      const found = await lookUp('unsure')
      const [message] = stage.screen()
      must(found?.type !== 'absent', 'The message is in the chat, but was not found.')
      if (found?.type === 'there') must(found.ref.id === message?.id, `The message ${found.ref.id} was found instead.`)
      const other = await lookUp('never-posted')
      must(other?.type !== 'there', 'A message was found that was never posted.')
    },
  },
  {
    name: 'reports later whether a post was delivered',
    needs: (stage) => supports('undelivered')(stage) && stage.port.reports !== undefined,
    run: async (stage) => {
      const { reports } = stage.port
      must(reports !== undefined && reports.withinMs() > 0, 'The port expects no reports.')
      let calls = 0
      const stop = reports.observe(() => {
        calls += 1
      })
      const ref = await post(stage, 'It arrives.', { key: 'delivered' })
      stage.failNext('undelivered')
      const lost = await post(stage, 'It does not.', { key: 'lost' })
      const isDone = (): boolean => reports.of('delivered').length > 0 && reports.of('lost').length > 0
      await until(stage, { isDone, withinMs: reports.withinMs(), message: 'No reports came in time.' })
      const there = reports.of('delivered')
      const failed = reports.of('lost')
      must(there.length === 1 && there[0]?.type === 'there', `The first report is ${there[0]?.type}.`)
      must(there[0]?.ref.id === ref.id, `It names the message ${there[0]?.ref.id} instead of ${ref.id}.`)
      must(failed.length === 1 && failed[0]?.type === 'failed', `The second report is ${failed[0]?.type}.`)
      must(failed[0]?.ref.id === lost.id, `It names the message ${failed[0]?.ref.id} instead of ${lost.id}.`)
      must(failed[0]?.error.type === 'refused', `Its error has the type ${failed[0]?.error.type}.`)
      must(calls >= 2, 'The listener was not called for each report.')
      must(reports.of('never-posted').length === 0, 'There is a report of a message that was never posted.')
      stop()
    },
  },
  {
    name: 'reports refused markup, or posts without it',
    needs: supports('unparsable'),
    run: async (stage) => {
      stage.failNext('unparsable')
      const error = await post(stage, 'Some **bold** words.').then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (error !== undefined) {
        const { type } = await failureOf(Promise.reject(error))
        must(type === 'unparsable', `The error type is ${type}.`)
        must(stage.screen().length === 0, 'A message was posted anyway.')
        return
      }
      must(stage.screen().length === 1, `It shows ${stage.screen().length} messages.`)
      must(textsOn(stage)[0]?.includes('words.') === true, `It shows "${textsOn(stage)[0]}".`)
    },
  },
  {
    name: 'reports a message that can no longer be edited',
    needs: (stage) => supports('fixed')(stage) && stage.port.edit !== undefined,
    run: async (stage) => {
      const ref = await post(stage, 'Before.')
      stage.failNext('fixed')
      const { type } = await failureOf(edit(stage, ref, 'After.'))
      must(type === 'fixed', `The error type is ${type}.`)
      must(readsAs(textsOn(stage)[0], 'Before.'), `It shows "${textsOn(stage)[0]}".`)
    },
  },
  {
    name: 'reports faults of edits and removals like those of posts',
    needs: (stage) => supports('unreachable')(stage) && stage.port.edit !== undefined,
    run: async (stage) => {
      const ref = await post(stage, 'Before.')
      stage.failNext('unreachable')
      const { type } = await failureOf(edit(stage, ref, 'After.'))
      must(type === 'unreachable', `The error type of an edit is ${type}.`)
      if (!stage.port.remove) return
      stage.failNext('unreachable')
      const removal = await failureOf(remove(stage, ref))
      must(removal.type === 'unreachable', `The error type of a removal is ${removal.type}.`)
    },
  },
  {
    name: 'keeps secrets out of its errors',
    needs: ({ faults, secrets = [] }) => secrets.length > 0 && faults.length > 0,
    run: async (stage) => {
      const others: readonly StageFault[] = ['fixed', 'unparsable', 'undelivered']
      for (const fault of stage.faults.filter((one) => !others.includes(one))) {
        stage.failNext(fault)
        const message = allTextOf(await failureOf(post(stage, 'A word.')))
        for (const secret of stage.secrets ?? [])
          must(!message.includes(secret), `The error after "${fault}" contains a secret.`)
      }
    },
  },
] as const satisfies readonly Demand[]

/** Returns the message, stack and fields of an error and its causes. */
function allTextOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : allTextOf(error.cause)
  return [error.message, error.stack, JSON.stringify(error), cause].join('\n')
}
