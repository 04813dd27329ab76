import { expect, test } from 'vitest'
import { asks, questionOf, replyWith } from './make.ts'
import { createScene } from './scene.ts'

const blocked = replyWith([], { phase: 'blocked', asks: [asks()] })
const answered = replyWith([], { asks: [asks([questionOf()], { status: 'answered', answers: [['Blue']] })] })

test('who was too late is not said to have answered', async () => {
  const scene = createScene({ sink: { policy: { verbosity: 'quiet' } } })
  scene.show(blocked)
  await scene.pass(1000)
  const taken = scene.sink().take({ text: 'Red' }, 'Ada')
  // It was answered elsewhere meanwhile, and the server says so to whom it refuses.
  scene.show(answered)
  await scene.pass(3000)
  taken?.undo()
  await scene.pass(5000)
  expect(scene.fake.screen().map((message) => message.text)).toEqual(['❓ **Colour**\n\nWhich one?\n\n✅ Blue'])
})
