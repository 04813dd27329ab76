import type { Reply } from '@reply/core'
import type { Policy } from '../../config.ts'
import type { Delivery } from '../../deliver/delivery.ts'
import { SinkError } from '../../error.ts'
import { type LedgerStore, memoryStore } from '../../ledger/ledger.ts'
import { PortError } from '../../port/port-error.ts'
import type { SinkOptions } from '../../sink.ts'
import { amendReply, patienceMs, settledDelivery, startReply, withSink } from './acting.ts'
import { askOf, numberedSentences, replyOf, statesOf } from './script.ts'
import { type Demand, must, readsAs, type Stage, type StageFault, textsOn, until } from './stage.ts'

const answer = 'The answer begins here, and this is how it ends.'

/** Clauses about a sink on the port: it shows each reply once, whatever fails. */
export const whole = [
  {
    name: 'shows a reply once',
    run: async (stage) => {
      const { delivery } = await showStates(stage, statesOf(answer))
      mustShowOnce(stage, answer)
      must(delivery.undelivered.length === 0, `${delivery.undelivered[0]?.key} is reported as undelivered.`)
      must(delivery.doubtful === 0, 'A message is reported as doubtful.')
    },
  },
  {
    name: 'ends with one message that notifies',
    run: async (stage) => {
      await showStates(stage, statesOf(answer), { notifyAfterMs: 0 })
      must(stage.notifications() <= 1, `The reply caused ${stage.notifications()} notifications.`)
      await showStates(stage, statesOf('Another one.', 'ses_other'), { delivery: 'final' })
      must(stage.notifications() >= 1, 'The reply caused no notification.')
    },
  },
  clauseForFault('rate-limited'),
  clauseForFault('unreachable'),
  clauseForFault('unparsable'),
  clauseForFault('unanswered'),
  {
    name: 'shows a reply once, or counts the copy, if the result of its first post was not stored',
    run: async (stage) => {
      const ledgers = memoryStore()
      let isTakenOver = false
      const losing: LedgerStore = {
        read: ledgers.read,
        write: async (key, text) => {
          isTakenOver = stage.screen().length > 0
          if (isTakenOver) throw new SinkError('taken-over', 'Another process shows the reply.')
          await ledgers.write(key, text)
        },
      }
      const policy = { delivery: stage.port.stream ? 'native' : 'final', verbosity: 'quiet' } as const
      await showStates(stage, statesOf(answer), { ...policy, store: losing })
      must(isTakenOver, 'The first process stored what it posted.')
      const { delivery } = await showStates(stage, statesOf(answer), { ...policy, store: ledgers })
      must(delivery.undelivered.length === 0, `${delivery.undelivered[0]?.key} is reported as undelivered.`)
      const copies = textsOn(stage).filter((text) => text.includes('The answer')).length
      must(copies >= 1 && copies <= 1 + delivery.doubtful, `The text is shown ${copies} times.`)
    },
  },
  {
    name: 'reports what a refusal kept from being shown',
    needs: ({ faults }) => faults.includes('refused'),
    run: async (stage) => {
      stage.failNext('refused')
      const { delivery } = await showStates(stage, statesOf(answer), { delivery: 'final', verbosity: 'quiet' })
      must(delivery.undelivered.length === 1, `${delivery.undelivered.length} messages are reported as undelivered.`)
      must(
        textsOn(stage).every((text) => !text.includes('The answer')),
        'The refused message is shown anyway.',
      )
    },
  },
  {
    name: 'splits a long text in order and loses none of it',
    run: async (stage) => {
      const long = numberedSentences(3 * stage.port.limits.maxLength)
      await showStates(stage, [replyOf(long, { isSettled: true })])
      const shown = stage.screen().map(({ text }) => text)
      must(shown.length >= 3, `${shown.length} messages cannot hold the text.`)
      must(readsAs(shown.join(' '), long), 'The joined messages differ from the text.')
    },
  },
  {
    name: 'never splits a character',
    run: async (stage) => {
      const { maxLength } = stage.port.limits
      for (const [index, before] of [0, 1, 2, 3].entries()) {
        const from = stage.screen().length
        const text = `${'x'.repeat(maxLength - 4 + before - 2)}👩‍👩‍👧‍👦👍🏽${'y'.repeat(20)}`
        await showStates(stage, [replyOf(text, { isSettled: true, sessionID: `ses_${index}` })])
        const shown = textsOn(stage).slice(from)
        must(shown.join('') === text, 'The joined messages differ from the text.')
        must(
          shown.some((one) => one.includes('👩‍👩‍👧‍👦')) && shown.some((one) => one.includes('👍🏽')),
          'A character was split.',
        )
      }
    },
  },
  {
    name: 'asks, and accepts a button press as the answer',
    needs: ({ port }) => port.limits.buttons !== undefined,
    run: async (stage) => {
      const asking = replyOf('', { ask: askOf({}) })
      await withSink(stage, async (sink) => {
        startReply(sink, asking)
        const button = (): string | undefined => stage.screen().flatMap((one) => one.buttons.flat())[1]?.data
        await until(stage, {
          isDone: () => button() !== undefined,
          withinMs: patienceMs,
          message: 'The question was not shown.',
        })
        must(stage.notifications() === 1, `The question caused ${stage.notifications()} notifications.`)
        const ada = { id: 'ada', name: 'Ada' }
        const token = button() ?? ''
        const messageRef = { id: stage.screen().find(({ buttons }) => buttons.length > 0)?.id ?? '' }
        const copied = await sink.readAnswer({ token, messageRef: { id: `${messageRef.id}0` } }, ada)
        must(copied?.type === 'error', 'The token counts on another message.')
        const taken = await sink.readAnswer({ token, messageRef }, ada)
        must(taken?.type === 'answer' && String(taken.answer) === 'Blue', 'The second button is not the second option.')
        must(
          (await sink.readAnswer({ token: 'another.token', messageRef })) === undefined,
          'A foreign token was accepted.',
        )
        const ask = askOf({ status: 'answered', answers: [['Blue']] })
        amendReply(sink, replyOf('Blue it is.', { ask, isSettled: true }))
        await settledDelivery(stage, sink)
      })
      must(
        stage.screen().every(({ buttons }) => buttons.flat().length === 0) || !stage.port.edit,
        'The buttons are still there after the answer.',
      )
      must(
        textsOn(stage).some((text) => readsAs(text, 'Blue it is.')),
        'The text after the answer is missing.',
      )
    },
  },
  {
    name: 'posts long code as a file that opens as text, whatever its language',
    needs: ({ port }) => port.upload !== undefined,
    run: async (stage) => {
      const code = `<script>alert(1)</script>\n`.repeat(40)
      const answer = `Here:\n\n\`\`\`html\n${code}\`\`\``
      await showStates(stage, [replyOf(answer, { isSettled: true })], { documentLength: 500 })
      const [name, ...more] = stage.screen().flatMap(({ fileName }) => fileName ?? [])
      must(more.length === 0, `${1 + more.length} files were posted.`)
      must(name === 'code-1.txt', `A fence of HTML became ${name ?? 'no file'} instead of code-1.txt.`)
    },
  },
  {
    name: 'shows long code as text if its file is refused',
    needs: ({ port }) => port.upload !== undefined,
    run: async (stage) => {
      const upload = (): Promise<never> => Promise.reject(new PortError('refused', 'It takes no files.'))
      const code = Array.from({ length: 60 }, (_, at) => `value${at} = ${at};`).join('\n')
      const answer = `Here:\n\n\`\`\`ts\n${code}\n\`\`\``
      const policy = { delivery: 'final', verbosity: 'quiet', documentLength: 500 } as const
      const refusing = { ...stage, port: { ...stage.port, upload } }
      const { delivery } = await showStates(refusing, [replyOf(answer, { isSettled: true })], policy)
      const shown = textsOn(stage).join('\n')
      must(shown.includes('value0 = 0;') && shown.includes('value59 = 59;'), 'The code is not shown.')
      must(delivery.undelivered.length === 0, `${delivery.undelivered[0]?.key} is reported as undelivered.`)
    },
  },
  {
    name: 'removes its status at the end',
    // No status message where a post would notify, or where the typing notice shows the activity.
    needs: ({ port: { edit, limits } }) =>
      edit !== undefined && limits.edits && limits.silent !== false && limits.typingHasStatus !== true,
    run: async (stage) => {
      await withSink(stage, async (sink) => {
        startReply(sink, replyOf(''))
        const isThere = (): boolean => stage.screen().length === 1
        await until(stage, { isDone: isThere, withinMs: patienceMs, message: 'The status was not shown.' })
        must(stage.notifications() === 0, 'The status caused a notification.')
        amendReply(sink, replyOf(answer, { isSettled: true }))
        await settledDelivery(stage, sink)
      })
      const rest = textsOn(stage).filter((text) => text.trim() !== '…')
      must(rest.length === 1 && readsAs(rest[0], answer), `It shows ${rest.join(' | ')}.`)
    },
  },
] as const satisfies readonly Demand[]

/** Returns the clause that a reply is shown once although its first post fails. */
function clauseForFault<F extends StageFault>(
  fault: F,
): Demand & { readonly name: `shows a reply once when the first post is ${F}` } {
  return {
    name: `shows a reply once when the first post is ${fault}`,
    needs: ({ faults }) => faults.includes(fault),
    run: async (stage) => {
      stage.failNext(fault)
      const { delivery } = await showStates(stage, statesOf(answer), { delivery: 'final', verbosity: 'quiet' })
      const isSure = fault !== 'unanswered' || stage.port.limits.idempotent
      if (isSure) mustShowOnce(stage, answer)
      must(delivery.undelivered.length === 0, `${delivery.undelivered[0]?.key} is reported as undelivered.`)
      const copies = textsOn(stage).filter((text) => readsAs(text, answer)).length
      // A look-up may find the post, or that it is not there.
      const isFound = stage.port.lookUp !== undefined && delivery.doubtful === 0 && copies === 1
      // Without idempotency the result is unknown: the text is there once or twice, and counted as doubtful.
      must(
        isSure ? delivery.doubtful === 0 : delivery.doubtful === 1 || isFound,
        `${delivery.doubtful} messages are reported as doubtful.`,
      )
      must(copies >= 1 && copies <= 1 + delivery.doubtful, `The text is shown ${copies} times.`)
    },
  }
}

/** Throws unless the chat shows this text and nothing else. */
function mustShowOnce(stage: Stage, text: string): void {
  const texts = textsOn(stage)
  must(readsAs(texts.join(' '), text), `It shows ${texts.join(' | ')}.`)
}

/** Shows the states in order, then waits until the reply is shown. */
async function showStates(
  stage: Stage,
  states: readonly Reply[],
  more: Partial<Policy> & Pick<SinkOptions, 'store'> = {},
): Promise<{ readonly delivery: Delivery }> {
  let delivery: Delivery | undefined
  await withSink(
    stage,
    async (sink) => {
      for (const [index, reply] of states.entries()) {
        if (index === 0) startReply(sink, reply)
        else amendReply(sink, reply)
        await stage.pass?.(100)
      }
      delivery = await settledDelivery(stage, sink)
    },
    more,
  )
  must(delivery !== undefined, 'The sink did not settle in time.')
  return { delivery }
}
