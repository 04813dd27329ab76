import { emptyReply, type Question, type QuestionAsk, type Reply } from '@reply/core'
import { answerWith, type Inbound, memoryStore, type Sink } from '@reply/sink'
import type { DiscordInteraction } from '@reply/testing/discord'
import { describe, expect, test } from 'vitest'
import { discordChannel } from '../src/index.ts'
import { channelId, person, type Started, start, until } from './bot.ts'
import { listening, logIn } from './client.ts'

const option = (label: string, description = '') => ({ label, description })
const question = (more: Partial<Question> = {}): Question => ({
  header: 'Colour',
  question: 'Which colour?',
  options: [option('Red', 'warm'), option('Blue')],
  multiple: false,
  custom: false,
  ...more,
})

function replyOf(questions: readonly Question[]): Reply {
  const place = { requestID: 'que_1', sessionID: 'ses_1', directory: undefined, path: ['ses_1'], askedAt: 1 }
  const asked: QuestionAsk = { type: 'question', status: 'pending', ...place, questions }
  return { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'blocked', asks: [asked] }
}

interface Asking extends Started {
  /** The requests that the server received. */
  readonly answers: unknown[]
  /** Another process, with the first one's stored ledger. */
  restart(): void
  /** Presses the button that opens the dialog. */
  open(from?: { readonly id: string }): Promise<DiscordInteraction>
}

/** A channel with a waiting ask, and a host that answers with one person's inbounds. */
async function ask(questions: readonly Question[], delay?: (started: Started) => Promise<void>): Promise<Asking> {
  const started = await start()
  const { discord, rest, clock } = started
  const answers: unknown[] = []
  const store = memoryStore()
  const stream = { abort: () => Promise.reject(new Error('aborted')) }
  const answering = async (_: unknown, given: unknown) => void answers.push(given)
  const opencode = { answer: answering, reject: async () => {}, abort: async () => {} }
  let sinks: readonly Sink[] = []
  const answer = answerWith({ client: opencode, running: () => sinks.map((sink) => ({ sink, stream })) })
  const client = listening(discord)
  const onInbound = async (inbound: Inbound): Promise<void> => {
    await delay?.(started)
    if (inbound.actor.id === person.id) await answer(inbound)
  }
  const channel = discordChannel({ rest, clock, client, updates: 'gateway', onInbound, store })
  channel.start()
  await logIn(client)
  const restart = (): void => {
    const sink = channel.sinkFor({ chat: { id: channelId } })
    sinks = [sink]
    sink.replyStarted?.({ type: 'replyStarted', reply: replyOf(questions) })
  }
  restart()
  await until(() => (discord.screen(channelId).at(-1)?.rows.length ?? 0) > 0)
  const open: Asking['open'] = async (from = person) => {
    const { messageId = '' } = discord.screen(channelId).at(-1) ?? {}
    return await discord.press(channelId, messageId, 'Answer …', { from }).settled
  }
  return { ...started, answers, restart, open }
}

const fieldsOf = ({ modal }: DiscordInteraction) => modal?.fields.map(({ label, type }) => `${type} ${label}`)
const open = question({ custom: true })
const toppings = question({ header: 'Toppings', question: 'On top?', multiple: true })

test('one dialog answers all questions with the labels of their options', async () => {
  const { discord, answers, open: press } = await ask([open, toppings])
  const opened = await press()
  expect(opened.modal?.title).toBe('Answer …')
  expect(fieldsOf(opened)).toEqual(['select Colour', 'text ✎ Colour', 'select Toppings'])
  expect(opened.modal?.fields[0]).toMatchObject({
    ...{
      description: 'Which colour?',
      isRequired: false,
      options: [{ label: 'Red', value: 'Red', description: 'warm' }, {}],
    },
  })
  const values = { '✎ Colour': 'Something darker', Toppings: ['Blue', 'Red'] }
  const submitted = await discord.submit(opened, values).settled
  expect(submitted.texts).toEqual([expect.stringContaining('Something darker, Blue, Red')])
  expect(answers).toEqual([[['Something darker'], ['Blue', 'Red']]])
})

test('an insufficient answer gets a notice, and the dialog can be opened again', async () => {
  const { discord, answers, open: press } = await ask([open, toppings])
  const values = { Colour: 'Red', '✎ Colour': 'no, Blue', Toppings: ['Red'] }
  const wrong = await discord.submit(await press(), values).settled
  expect([wrong.texts, answers]).toEqual([['Only one answer is allowed here.'], []])
  await discord.submit(await press(), { Colour: 'Red', Toppings: ['Red'] }).settled
  expect(answers).toEqual([[['Red'], ['Red']]])
})

test('a dialog asked before a restart opens after it', async () => {
  const { discord, answers, restart, open: press } = await ask([open, toppings])
  const before = await press()
  restart()
  const after = await press()
  expect(fieldsOf(after)).toEqual(fieldsOf(before))
  await discord.submit(before, { Colour: 'Blue', Toppings: ['Red'] }).settled
  expect([answers, discord.count('post')]).toEqual([[[['Blue'], ['Red']]], 1])
})

test("the dialog doesn't open for people that the host rejects", async () => {
  const { open: press } = await ask([open])
  const opened = await press({ id: '800000000000000009' })
  expect([opened.status, opened.modal, opened.texts]).toEqual(['deferred', undefined, []])
})

test('if it is too late for a dialog, a button opens it', async () => {
  let isAsked = false
  const asking = await ask([open], async ({ clock: by }) => {
    const later = new Promise<void>((resolve) => void by.after(2500, resolve))
    isAsked = true
    await later
  })
  const { discord, clock } = asking
  const pressing = asking.open()
  await until(() => isAsked)
  await clock.advance(2500)
  const opened = await pressing
  expect(opened.status).not.toBe('failed')
  await until(() => discord.count('followUp') === 1)
  const [notice] = discord.calls.filter(({ name }) => name === 'followUp')
  const [{ messageId = '' } = {}] = discord.screen(channelId)
  const [[button] = []] =
    discord
      .screen(channelId)
      .find((one) => one.messageId === messageId)
      ?.rows.slice(-1) ?? []
  // It is about the message of the ask: the notice is not one of those.
  const custom_id = `${button?.customId}@${messageId}`
  expect(notice?.body).toMatchObject({ components: [{ components: [{ custom_id }] }] })
})

describe('a dialog takes five fields', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => option(`Option ${at + 1}`))

  test("and asks what doesn't fit afterwards", async () => {
    const questions = Array.from({ length: 7 }, (_, at) => question({ header: `Q${at + 1}` }))
    const { discord, clock, answers, open: press } = await ask(questions)
    const first = await press()
    expect(fieldsOf(first)).toHaveLength(5)
    const given = Object.fromEntries([1, 2, 3, 4, 5].map((at) => [`Q${at}`, 'Red']))
    await discord.submit(first, given).settled
    expect(answers).toEqual([])
    // The next one is posted once the rate limit allows it.
    await until(() => {
      void clock.advance(20)
      return discord.screen(channelId).at(-1)?.text.includes('Q6') === true
    })
    const second = await press()
    expect(fieldsOf(second)).toEqual(['select Q6', 'select Q7'])
    await discord.submit(second, { Q6: 'Blue', Q7: 'Blue' }).settled
    expect(answers).toEqual([[...Array(5).fill(['Red']), ['Blue'], ['Blue']]])
  })

  test('and splits many options into several selects', async () => {
    const { discord, answers, open: press } = await ask([question({ options: many(60), multiple: true })])
    const opened = await press()
    expect(fieldsOf(opened)).toEqual(['select Colour (1/3)', 'select Colour (2/3)', 'select Colour (3/3)'])
    await discord.submit(opened, { 'Colour (1/3)': 'Option 3', 'Colour (3/3)': ['Option 51', 'Option 60'] }).settled
    expect(answers).toEqual([[['Option 3', 'Option 51', 'Option 60']]])
  })

  test('and asks for a number if there are too many options even for that', async () => {
    const { discord, answers, open: press } = await ask([question({ options: many(200) })])
    const opened = await press()
    expect(fieldsOf(opened)).toEqual(['text Colour'])
    await discord.submit(opened, { Colour: '150' }).settled
    expect(answers).toEqual([[['Option 150']]])
  })

  test('and numbers options without a name', async () => {
    const {
      discord,
      answers,
      open: press,
    } = await ask([question({ options: [option(' '), option('Blue', ' ')] }), toppings])
    const opened = await press()
    const [field] = opened.modal?.fields ?? []
    expect(field).toMatchObject({ options: [{ label: '1', value: '1' }, { label: 'Blue' }] })
    await discord.submit(opened, { Colour: '1', Toppings: ['Red'] }).settled
    expect(answers).toEqual([[[' '], ['Red']]])
  })

  test('and shows a long question in the description below its label', async () => {
    const words = 'Which of these colours shall the roof of the new house have?'
    const { open: press } = await ask([question({ header: '', question: words, multiple: true }), question()])
    expect((await press()).modal?.fields).toMatchObject([
      { label: `${words.slice(0, 44)}…`, description: words },
      { label: 'Colour', description: 'Which colour?' },
    ])
  })

  test('with full texts where there is room, and labels of any length', async () => {
    const long = 'Why? '.repeat(60).trim()
    const options = [option('x'.repeat(150), 'y'.repeat(150)), option('Same'), option('Same')]
    const { discord, answers, open: press } = await ask([question({ question: long, options, custom: true })])
    const opened = await press()
    expect(opened.modal?.texts).toEqual([long])
    const [field] = opened.modal?.fields ?? []
    const [first] = field?.type === 'select' ? field.options : []
    expect([first?.label.length, first?.value, first?.description?.length]).toEqual([100, '1', 100])
    await discord.submit(opened, { Colour: first?.label ?? '' }).settled
    expect(answers).toEqual([[['x'.repeat(150)]]])
  })
})
