import { textOf } from '@reply/core'
import { expect, test } from 'vitest'
import { replayed } from './replay.ts'
import { questionScene } from './session-scenes.ts'

test.each(['qwen-code-0.21.2', 'qwen-code-0.24.4'])("%s's question is asked and answered as one", async (recorded) => {
  const { client, sent } = replayed('question', recorded)
  const [reply] = await questionScene.play({ client, directory: '/project' }, 'default')
  await client.close()
  expect(reply?.asks).toMatchObject([
    {
      type: 'question',
      status: 'answered',
      answers: [['Blue']],
      questions: [
        { header: 'Color', question: 'Which color?', multiple: false, options: [{ label: 'Red' }, { label: 'Blue' }] },
      ],
    },
  ])
  expect(reply && textOf(reply)).toContain('Thanks.')
  expect(sent.map(({ result }) => result)).toContainEqual({
    outcome: { outcome: 'selected', optionId: 'proceed_once' },
    answers: { '0': 'Blue' },
  })
})
