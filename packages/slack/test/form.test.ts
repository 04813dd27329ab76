import type { Inbound } from '@reply/sink'
import type { Form } from '@reply/sink/channel'
import type { FormQuestion } from '@reply/sink/internal'
import { describe, expect, test } from 'vitest'
import { type SlackApi, slackChannel } from '../src/index.ts'
import { clientOf, ending, open, posting, until } from './app.ts'

const question = (more: Partial<FormQuestion> = {}): FormQuestion => ({
  header: 'Colour',
  question: 'Which?',
  multiple: false,
  custom: false,
  options: [
    { label: 'Red', description: 'like fire' },
    { label: 'Blue', description: '' },
  ],
  ...more,
})
const many = (count: number, letters = 0) =>
  Array.from({ length: count }, (_, at) => ({
    label: `Option ${at}${'x'.repeat(letters)}`,
    description: 'd'.repeat(letters),
  }))
const form = (questions: readonly FormQuestion[]): Form => ({ token: 'a-secret.0.f', label: 'Answer …', questions })

/** A form in the thread of a channel with `events: 'own'`, and the inbounds received. */
async function ask(asked: Form) {
  const opened = await open()
  const { api, clock, slack, port, bubble } = opened
  const received: Inbound[] = []
  const errors: Error[] = []
  const listen = (by: SlackApi) =>
    slackChannel({
      api: by,
      clock,
      events: 'http',
      signingSecret: slack.signingSecret,
      onInbound: (inbound) => received.push(inbound),
      onError: (error) => errors.push(error),
    })
  let channel = listen(api)
  const restart = (by: SlackApi): void => {
    channel = listen(by)
  }
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => channel.listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  slack.sendTo(`http://127.0.0.1:${address.port}/`)
  const ref = await port.post(bubble('?', { form: asked }), posting)
  const press = async (): Promise<void> => {
    expect(await slack.press('C1', ref.id, 'Answer …')).toBe(true)
    await until(() => slack.view() !== undefined || slack.whispers.length > 0 || errors.length > 0)
  }
  const close = (): void => void server.close()
  return { ...opened, ref, press, received, errors, restart, close }
}

const pressOf = (inbound: Inbound | undefined) =>
  inbound?.type === 'press' ? [inbound.token, inbound.values] : undefined

describe('a form', () => {
  test('with one question and many options is a select, whose choice is the answer', async () => {
    const { slack, ref, received, root, close } = await ask(form([question({ options: many(100) })]))
    expect(await slack.choose('C1', ref.id, 'Option 77', { from: { id: 'U5', name: 'Ada' } })).toBe(true)
    await until(() => received.length === 1)
    expect(pressOf(received[0])).toEqual(['a-secret.0.f', [['Option 77']]])
    expect(received).toMatchObject([{ chat: { id: 'C1', thread: root }, actor: { id: 'U5' }, messageRef: ref }])
    close()
  })

  test('with several questions is a dialog with a suitable field for each', async () => {
    const questions = [
      question({ custom: true }),
      question({ header: '', multiple: true }),
      question({ header: 'Name', question: 'Name', options: [] }),
      question({ options: many(11) }),
      question({ options: many(12), multiple: true, custom: true }),
    ]
    const { slack, press, received, root, ref, close } = await ask(form(questions))
    await press()
    expect(slack.view()?.fields.map(({ label, element, isOptional }) => [label, element, isOptional])).toEqual([
      ['Colour: Which?', 'radio_buttons', true],
      ['Or answer in your own words.', 'plain_text_input', true],
      ['Which?', 'checkboxes', false],
      ['Name', 'plain_text_input', false],
      ['Colour: Which?', 'static_select', false],
      ['Colour: Which?', 'multi_static_select', true],
      ['Or answer in your own words.', 'plain_text_input', true],
    ])
    await slack.submit(['Red', 'Purple', ['Red', 'Blue'], 'Rex', 'Option 3', ['Option 1'], 'and more'])
    await until(() => received.length === 1)
    expect(pressOf(received[0])).toEqual([
      'a-secret.0.f',
      [['Purple'], ['Red', 'Blue'], ['Rex'], ['Option 3'], ['Option 1', 'and more']],
    ])
    expect(received).toMatchObject([{ chat: { id: 'C1', thread: root }, actor: { id: 'U1' }, messageRef: ref }])
    close()
  })

  test('survives a restart, also between opening and submission', async () => {
    const { slack, press, received, restart, close } = await ask(form([question({ custom: true })]))
    restart(clientOf(slack))
    await press()
    restart(clientOf(slack))
    await slack.submit(['Blue', ''])
    await until(() => received.length === 1)
    expect(pressOf(received[0])).toEqual(['a-secret.0.f', [['Blue']]])
    close()
  })

  test('too long for its button is asked of the host, when it is opened and when it is filled in, in any process', async () => {
    const long = form([question({ options: many(60, 40), custom: true }), question()])
    const { slack, press, received, restart, close } = await ask(long)
    const answerNext = async (): Promise<void> => {
      const inbound = received.shift()
      if (inbound?.type === 'press') await inbound.open?.(long)
    }
    void until(() => received.length === 1).then(answerNext)
    await press()
    restart(clientOf(slack))
    await slack.submit([`Option 7${'x'.repeat(40)}`, '', 'Red'])
    await until(() => received.length === 1)
    expect(pressOf(received[0])).toEqual(['a-secret.0.f', undefined])
    await answerNext()
    await until(() => received.length === 1)
    expect(pressOf(received[0])).toEqual(['a-secret.0.f', [[`Option 7${'x'.repeat(40)}`], ['Red']]])
    close()
  })

  test('that can no longer be opened is reported', async () => {
    const { slack, press, errors, close } = await ask(form([question({ custom: true })]))
    slack.inject({ method: 'views.open', type: 'error', error: 'expired_trigger_id' })
    await press()
    expect(await ending(Promise.reject(errors[0]))).toMatchObject({ type: 'answer', message: /expired_trigger_id/ })
    close()
  })
})
