import { type Demand, edit, failureOf, must, post, reads, remove, type StageFault, textsOn } from './stage.ts'

const can =
  (fault: StageFault): NonNullable<Demand['needs']> =>
  ({ faults }) =>
    faults.includes(fault)

/** How a port reports each failure: the sink handles each by its type. */
export const faults = [
  {
    name: 'tells a rate limit with the time to wait',
    needs: can('rate-limited'),
    run: async (stage) => {
      stage.failNext('rate-limited')
      const { type, retryAfterMs } = await failureOf(post(stage, 'Too soon.'))
      must(type === 'rate-limited', `It says ${type}.`)
      must(retryAfterMs !== undefined && retryAfterMs > 0, `It is to wait ${retryAfterMs} ms.`)
      must(stage.screen().length === 0, 'It posted something nevertheless.')
    },
  },
  {
    name: 'tells a refusal',
    needs: can('refused'),
    run: async (stage) => {
      stage.failNext('refused')
      const { type } = await failureOf(post(stage, 'Not here.'))
      must(type === 'refused', `It says ${type}.`)
    },
  },
  {
    name: 'tells that a call did not arrive',
    needs: can('unreachable'),
    run: async (stage) => {
      stage.failNext('unreachable')
      const { type } = await failureOf(post(stage, 'To nobody.'))
      must(type === 'unreachable', `It says ${type}.`)
      must(stage.screen().length === 0, 'It posted something nevertheless.')
    },
  },
  {
    name: 'tells that nobody knows whether it was posted',
    needs: can('unanswered'),
    run: async (stage) => {
      stage.failNext('unanswered')
      const { type } = await failureOf(post(stage, 'Perhaps.'))
      must(type === 'ambiguous', `It says ${type}.`)
      must(stage.screen().length === 1, 'The port tried again by itself.')
    },
  },
  {
    name: 'shows what nobody confirmed once, under its key',
    needs: (stage) => can('unanswered')(stage) && stage.port.limits.idempotent,
    run: async (stage) => {
      stage.failNext('unanswered')
      await failureOf(post(stage, 'Perhaps.', { key: 'again' }))
      await post(stage, 'Perhaps.', { key: 'again' })
      must(stage.screen().length === 1, `The same key made ${stage.screen().length} messages.`)
    },
  },
  {
    name: 'tells that its markup is refused, or does without',
    needs: can('unparsable'),
    run: async (stage) => {
      stage.failNext('unparsable')
      const error = await post(stage, 'Some **bold** words.').then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (error !== undefined) {
        const { type } = await failureOf(Promise.reject(error))
        must(type === 'unparsable', `It says ${type}.`)
        must(stage.screen().length === 0, 'It posted something nevertheless.')
        return
      }
      must(stage.screen().length === 1, `It shows ${stage.screen().length} messages.`)
      must(textsOn(stage)[0]?.includes('words.') === true, `It shows "${textsOn(stage)[0]}".`)
    },
  },
  {
    name: 'tells that a message cannot be edited any more',
    needs: (stage) => can('fixed')(stage) && stage.port.edit !== undefined,
    run: async (stage) => {
      const ref = await post(stage, 'Before.')
      stage.failNext('fixed')
      const { type } = await failureOf(edit(stage, ref, 'After.'))
      must(type === 'fixed', `It says ${type}.`)
      must(reads(textsOn(stage)[0], 'Before.'), `It shows "${textsOn(stage)[0]}".`)
    },
  },
  {
    name: 'tells of edits and removals as of posts',
    needs: (stage) => can('unreachable')(stage) && stage.port.edit !== undefined,
    run: async (stage) => {
      const ref = await post(stage, 'Before.')
      stage.failNext('unreachable')
      const { type } = await failureOf(edit(stage, ref, 'After.'))
      must(type === 'unreachable', `Of an edit it says ${type}.`)
      if (!stage.port.remove) return
      stage.failNext('unreachable')
      const removal = await failureOf(remove(stage, ref))
      must(removal.type === 'unreachable', `Of a removal it says ${removal.type}.`)
    },
  },
  {
    name: 'keeps secrets out of its errors',
    needs: ({ faults, secrets = [] }) => secrets.length > 0 && faults.length > 0,
    run: async (stage) => {
      for (const fault of stage.faults.filter((one) => one !== 'fixed' && one !== 'unparsable')) {
        stage.failNext(fault)
        const said = allOf(await failureOf(post(stage, 'A word.')))
        for (const secret of stage.secrets ?? [])
          must(!said.includes(secret), `After "${fault}" the error tells a secret.`)
      }
    },
  },
] as const satisfies readonly Demand[]

/** Everything that an error says, including its chain of causes. */
function allOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : allOf(error.cause)
  return [error.message, error.stack, JSON.stringify(error), cause].join('\n')
}
