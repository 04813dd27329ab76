import { test } from 'vitest'
import { forgetRow, listFailed } from '../src/failed/list-failed.ts'
import { texts } from '../src/texts.ts'
import { bundlePoison, startStage, stopped } from './poison.ts'

bundlePoison()

test.concurrent('what the chat is told of it is not lost if its platform fails', async ({ onTestFinished }) => {
  const { telegram, start, saying, killed, close } = await startStage()
  onTestFinished(close)
  telegram.say(1, 'poison message')
  for (let nth = 1; nth <= 6; nth++) await killed()
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: /^send(Rich)?Message$/, times: 3 })
  const seventh = start('release')
  await saying(1, '/resend')
  telegram.say(1, '/resend')
  await saying(1, texts.poisonMessage)
  await stopped(seventh)
})

test.concurrent('a run that kills the process where it is found again is put aside, and the others go on', async ({
  expect,
  onTestFinished,
}) => {
  const { telegram, ntfy, options, start, said, saying, killed, told, close } = await startStage()
  onTestFinished(close)
  telegram.say(2, 'wait')
  const first = start()
  await saying(2, 'Working on it.')
  telegram.say(1, 'poison run')
  telegram.say(1, 'after it')
  await first.ended
  for (let nth = 2; nth <= 6; nth++) await killed()
  const seventh = start('release')
  await saying(1, 'Done: after it')
  await saying(1, texts.poisonRun)
  expect(told(1, texts.poisonRun)).toBe(1)
  await expect.poll(() => ntfy.screen('ann-9Wk3hQxTz7').map(({ title }) => title)).toEqual(['Failed'])
  // Its agent was a part of the process that was killed.
  await saying(2, texts.unknownRun)
  expect(said(2)).toEqual(['Working on it.', `⚠️ Failed: ${texts.lostSight}`, texts.unknownRun])
  expect(await listFailed(options)).toEqual([
    expect.objectContaining({ type: 'prompt' }),
    expect.objectContaining({ type: 'poison', what: expect.stringMatching(/^run execution\/tg\/1\/\/\w{6}$/) }),
  ])
  await stopped(seventh)
})

test.concurrent('messages from when the bridge was down whose decision kills the process are put aside together', async ({
  expect,
  onTestFinished,
}) => {
  const { telegram, options, start, said, saying, killed, told, close } = await startStage({
    behindMs: 3_600_000,
    router: { backlog: 'all' },
  })
  onTestFinished(close)
  telegram.say(1, 'poison backlog')
  telegram.say(1, 'with it')
  await killed()
  telegram.say(2, 'beside it')
  for (let nth = 2; nth <= 6; nth++) await killed()
  const seventh = start('release')
  await saying(1, texts.poisonBacklog(2))
  await saying(2, 'Done: beside it')
  telegram.say(1, 'after it')
  await saying(1, 'Done: after it')
  expect(said(1).join()).not.toContain('Done: with it')
  expect(told(1, texts.poisonBacklog(2))).toBe(1)
  expect((await listFailed(options)).map(({ type }) => type)).toEqual(['poison', 'poison'])
  expect(await forgetRow({ ...options, key: 'backlog/tg/1/' })).toBe(2)
  await stopped(seventh)
})
