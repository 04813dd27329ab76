import { launchOpencode, openCode2Version, sayText, startModel } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect, type ReplyStream, textOf } from '../../src/index.ts'
import { answerTo, isNeverRun, nextOf, testOvertaken } from './open-window.ts'

for (const version of ['1.1.65', '1.18.34', openCode2Version]) testOvertaken(version, { rounds: 5 })

// 1.1.65 stores a prompt that comes in the last moments of a run and runs nothing for it, in about one of ten tries.
test('a prompt that 1.1.65 stores at the end of a run gets its own answer', { timeout: 300_000 }, async () => {
  const answers = ['mine', 'theirs'].map((name) => [name, { steps: [[sayText(answerTo(name))]] }])
  const model = await startModel({ scripts: Object.fromEntries(answers), fallback: 'mine' })
  const server = await launchOpencode({ model, version: '1.1.65', config: { extra: { snapshot: false } } })
  const [desk, own] = [connect(server), connect(server)]
  await Promise.all([desk.ready, own.ready])
  for (let round = 0; round < 30; round++) {
    const { sessionID } = await desk.prompt({ text: '[scenario:theirs]' }).result
    let theirs: ReplyStream | undefined
    const onPosting = async (): Promise<void> => {
      theirs = desk.prompt({ sessionID, text: '[scenario:theirs]' })
      await nextOf(theirs, 'stepFinished')
    }
    const reply = await own.prompt({ sessionID, text: '[scenario:mine]' }, { onPosting }).result
    await theirs?.result
    if (isNeverRun(reply)) continue
    expect(reply.outcome).toBe('completed')
    expect(textOf(reply).endsWith(answerTo('mine'))).toBe(true)
  }
  await Promise.all([desk.close(), own.close()])
  await server.stop()
  await model.close()
})
