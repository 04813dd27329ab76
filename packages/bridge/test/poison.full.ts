import { test } from 'vitest'
import { forgetRow, listFailed } from '../src/failed/list-failed.ts'
import { texts } from '../src/texts.ts'
import { bundlePoison, startStage, stopped } from './poison.ts'

// `poison.nightly.ts` has what else can kill a process.
bundlePoison()

test.concurrent('a message that kills the process is put aside at the seventh start, and all others are handled', async ({
  expect,
  onTestFinished,
}) => {
  const { telegram, options, start, said, saying, killed, told, close } = await startStage()
  onTestFinished(close)
  telegram.say(1, 'poison message')
  telegram.say(1, 'after it')
  telegram.say(2, 'beside it')
  for (let nth = 1; nth <= 6; nth++) {
    await killed()
    expect(said(1)).toEqual([])
  }
  const seventh = start('release')
  await saying(1, 'Done: after it')
  await saying(2, 'Done: beside it')
  telegram.say(1, 'one more')
  await saying(1, 'Done: one more')
  await saying(1, texts.poisonMessage)
  expect(told(1, texts.poisonMessage)).toBe(1)
  expect(said(2)).toEqual(['Done: beside it'])
  expect(seventh.lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ type: 'failures', poison: 1, metric: 'reply_bridge_failed{kind="poison"} 1' }),
  )
  const failed = await listFailed(options)
  expect(failed).toEqual([
    expect.objectContaining({ type: 'poison', what: expect.stringMatching(/^message inbox\/tg\/1\/, entry \d+$/) }),
  ])
  expect(failed.map(({ why }) => why).join()).toContain('6 processes')
  await stopped(seventh)

  const eighth = start('release')
  telegram.say(1, 'the last')
  await saying(1, 'Done: the last')
  expect(told(1, texts.poisonMessage)).toBe(1)
  expect(await forgetRow({ ...options, key: 'inbox/tg/1/' })).toBe(1)
  expect(await listFailed(options)).toEqual([])
  await stopped(eighth)
})
