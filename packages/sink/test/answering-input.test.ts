import { expect, test } from 'vitest'
import { texts } from '../src/texts.ts'
import { asks, questionOf, replyWith } from './make.ts'
import { pressing } from './pressing.ts'
import { createScene } from './scene.ts'

const blocked = replyWith([], { phase: 'blocked', asks: [asks()] })
const answered = replyWith([], { asks: [asks([questionOf()], { status: 'answered', answers: [['Blue']] })] })

test('a person who answered too late is not shown as the one who answered', async () => {
  const scene = createScene({ sink: { policy: { verbosity: 'quiet' } } })
  scene.show(blocked)
  await scene.pass(1000)
  const taken = await scene.sink().readAnswer({ text: 'Red' }, { id: 'Ada', name: 'Ada' })
  // It was answered elsewhere meanwhile, and the server reports that to the late person.
  scene.show(answered)
  await scene.pass(3000)
  taken?.undo()
  await scene.pass(5000)
  expect(scene.fake.screen().map((message) => message.text)).toEqual(['❓ **Colour**\n\nWhich one?\n\n✅ Blue'])
})

test('an ask is answered by permitted actors, and never by an unknown one', async () => {
  const asked: string[] = []
  const scene = createScene({
    sink: {
      mayAnswer: ({ id }, { requestID }) => {
        asked.push(requestID)
        return id === 'ada'
      },
    },
  })
  scene.show(blocked)
  await scene.pass(1000)
  const token = scene.fake.screen()[0]?.buttons.flat()[0]?.data ?? ''
  const [ada, bob] = ['ada', 'bob'].map((id) => ({ id, name: id }))
  // A press gets a reply; text from others has nothing to do with the ask.
  expect(await scene.sink().readAnswer(pressing(scene, token), bob)).toMatchObject({
    type: 'error',
    error: texts.notForYou,
  })
  expect(await scene.sink().readAnswer(pressing(scene, token))).toMatchObject({ type: 'error' })
  expect([await scene.sink().readAnswer({ text: 'Red' }, bob), await scene.sink().readAnswer({ text: 'Red' })]).toEqual(
    [undefined, undefined],
  )
  expect(await scene.sink().readAnswer(pressing(scene, token), ada)).toMatchObject({
    type: 'answer',
    answer: [['Red']],
  })
  expect(new Set(asked)).toEqual(new Set(['que_1']))
})
