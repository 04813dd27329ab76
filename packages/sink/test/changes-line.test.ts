import type { FileChange, Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { asks, permits, questionOf, replyWith, settledWith, text } from './make.ts'
import { createScene, type Scene, type SceneOptions } from './scene.ts'

const diff = { data: 'b/diff', command: '/diff' }

const changed = (...lines: readonly number[]): Pick<Reply, 'changes'> => ({
  changes: {
    msg_1: lines.map(
      (additions, index): FileChange => ({
        ...{ path: `${index}.ts`, kind: 'modified', additions, deletions: 1, patches: [] },
      }),
    ),
  },
})

const shown = ({ fake }: Scene): readonly (readonly unknown[])[] =>
  fake
    .screen()
    .map(({ text: said, buttons }) => [
      said.replaceAll('\\', ''),
      ...buttons.flat().map(({ label, data }) => `${label}=${data}`),
    ])

/** Shows an answer that settles with these changes, and waits until all of it is shown. */
async function settled(reply: Reply, options: SceneOptions = {}): Promise<Scene> {
  const scene = createScene({ ...options, sink: { diff, ...options.sink } })
  scene.show(reply)
  await scene.end()
  return scene
}

const answer = { ...text('It is done.'), id: 'prt_a' }

test('a line about its files is below the answer of a short run, with the button for the diff', async () => {
  const scene = await settled(settledWith([answer], changed(41, 3, 5)))
  expect(shown(scene)).toEqual([['It is done.\n\n*3 files · +49 −3*', 'Diff=b/diff']])
  expect(scene.fake.calls.map(({ verb }) => verb).filter((verb) => verb !== 'typing')).toEqual(['post'])
})

test('it is below the line that the run was stopped, in the same message', async () => {
  const stopped = { outcome: 'aborted', aborting: 'requested', ...changed(41) } as const
  const below = { sink: { policy: { abortNotice: 'below' } } } as const
  const scene = await settled(settledWith([answer], stopped), below)
  expect(shown(scene)).toEqual([['It is done.\n\n*⏹️ Stopped.*\n\n*1 file · +41 −1*', 'Diff=b/diff']])
})

test('a single file and no lines are named so', async () => {
  const one = { changes: { msg_1: [{ path: 'a', kind: 'modified', patches: [] }] } } satisfies Partial<Reply>
  expect(shown(await settled(settledWith([answer], one))).at(-1)).toEqual(['It is done.\n\n*1 file*', 'Diff=b/diff'])
})

test('a long run says it in its last message, which has the button', async () => {
  const scene = createScene({ sink: { diff } })
  scene.show(replyWith([{ ...answer, status: 'open' }]))
  await scene.pass(40_000)
  scene.show(settledWith([answer], changed(41), 40_000))
  await scene.end()
  expect(shown(scene)).toEqual([['It is done.'], ['Done in 40s · 1 file · +41 −1.', 'Diff=b/diff']])
})

const page = new URL('https://reply.example.org/r/x(1)#t.a_b-c')
const pageHref = 'https://reply.example.org/r/x%281%29#t.a_b-c'

test('the page of the run is linked from the status line, and below the answer', async () => {
  const scene = createScene({ sink: { page } })
  scene.show(replyWith([]))
  await scene.pass(5000)
  expect(shown(scene)).toEqual([[expect.stringMatching(/^\*Working.*\* · \[Open\]\(https/)]])
  scene.show(settledWith([answer]))
  await scene.end()
  expect(shown(scene)).toEqual([[`It is done.\n\n[Open](${pageHref})`]])
})

test('the page stands beside the changed files, and in the last message of a long run', async () => {
  const short = await settled(settledWith([answer], changed(41)), { sink: { page } })
  expect(shown(short)).toEqual([[`It is done.\n\n*1 file · +41 −1* · [Open](${pageHref})`, 'Diff=b/diff']])
  const long = createScene({ sink: { diff, page } })
  long.show(replyWith([{ ...answer, status: 'open' }]))
  await long.pass(40_000)
  long.show(settledWith([answer], changed(41), 40_000))
  await long.end()
  expect(shown(long).at(-1)).toEqual([`Done in 40s · 1 file · +41 −1. [Open](${pageHref})`, 'Diff=b/diff'])
})

test('the page is linked below a question and a permission while they wait', async () => {
  const permission = permits()
  const scene = createScene({ sink: { page } })
  scene.show(replyWith([], { phase: 'blocked', asks: [asks(), permission] }))
  await scene.pass(5000)
  expect(scene.fake.screen().map(({ text: said }) => said.includes(`[Open](${pageHref})`))).toEqual([true, true])
  scene.show(
    replyWith([], { asks: [asks([questionOf()], { status: 'withdrawn' }), { ...permission, status: 'withdrawn' }] }),
  )
  await scene.pass(5000)
  expect(
    scene.fake
      .screen()
      .slice(0, 2)
      .map(({ text: said }) => said.includes('[Open]')),
  ).toEqual([false, false])
})

test('the page is not worth a message of its own where nothing is edited, and is not shown in quiet', async () => {
  const fixed = await settled(settledWith([answer]), { sink: { page }, fake: { limits: { edits: false } } })
  expect(shown(fixed)).toEqual([['It is done.']])
  const quiet = await settled(settledWith([answer]), { sink: { page, policy: { verbosity: 'quiet' } } })
  expect(shown(quiet)).toEqual([['It is done.']])
})

test.each<[string, Reply]>([
  ['without changes', settledWith([answer])],
  ['that is not over', replyWith([answer], changed(1))],
])('a run %s has no line', async (_, reply) => {
  const scene = createScene({ sink: { diff } })
  scene.show(reply)
  await scene.pass(1000)
  expect(shown(scene).flat().join()).not.toContain('file')
})

test('where there are no buttons the line names the command', async () => {
  const scene = await settled(settledWith([answer], changed(41)), { fake: { limits: { buttons: undefined } } })
  expect(shown(scene).at(-1)).toEqual(['It is done.\n\n*1 file · +41 −1 · /diff*'])
})

test('without a host that sends diffs, the line has only the numbers', async () => {
  const scene = await settled(settledWith([answer], changed(41)), { sink: { diff: undefined } })
  expect(shown(scene).at(-1)).toEqual(['It is done.\n\n*1 file · +41 −1*'])
})

test('an aborted run tells what it changed, too', async () => {
  const scene = await settled(settledWith([answer], { ...changed(41), outcome: 'aborted', aborting: 'requested' }))
  expect(shown(scene).at(-1)).toEqual(['It is done.\n\n*1 file · +41 −1*', 'Diff=b/diff'])
})

test('no line in quiet, and none for an empty text', async () => {
  expect(shown(await settled(settledWith([answer], changed(1)), { sink: { policy: { verbosity: 'quiet' } } }))).toEqual(
    [['It is done.']],
  )
  expect(shown(await settled(settledWith([answer], changed(1)), { sink: { texts: { changes: () => '' } } }))).toEqual([
    ['It is done.'],
  ])
})

test.each<[string, SceneOptions]>([
  ['can not be edited', { fake: { limits: { edits: false } } }],
  ['is too long for it', { fake: { limits: { maxLength: 20 } } }],
])('the line is a quiet message of its own below an answer that %s', async (_, options) => {
  const scene = await settled(settledWith([answer], changed(41)), options)
  expect(shown(scene)).toEqual([['It is done.'], ['*1 file · +41 −1*', 'Diff=b/diff']])
  expect(scene.fake.notifications).toBe(1)
})

const streaming = { fake: { stream: 'append' }, sink: { diff, policy: { delivery: 'native' } } } as const

test('so it is below a text that was streamed, also after a restart', async () => {
  const scene = createScene(streaming)
  scene.show(replyWith([{ ...answer, status: 'open' }]))
  await scene.pass(1500)
  for (let process = 0; process < 2; process++) {
    scene.show(settledWith([answer], changed(41)))
    await scene.end()
    expect(shown(scene)).toEqual([['It is done.'], ['*1 file · +41 −1*', 'Diff=b/diff']])
    scene.restart()
  }
})

test('where texts are streamed, it is below a text that was posted whole', async () => {
  const scene = await settled(settledWith([answer], changed(41)), streaming)
  expect(shown(scene)).toEqual([['It is done.\n\n*1 file · +41 −1*', 'Diff=b/diff']])
})

test('the line is a message of its own if the platform refuses to edit the answer', async () => {
  const scene = createScene({ sink: { diff }, fake: { faults: [{ call: 2, type: 'fixed' }] } })
  scene.show(settledWith([answer]))
  await scene.end()
  scene.show(settledWith([answer], changed(41)), 'replyAmended')
  await scene.end()
  expect(shown(scene)).toEqual([['It is done.'], ['*1 file · +41 −1*', 'Diff=b/diff']])
})

test('a change that the server reports late is added, also after a restart, and stays one line', async () => {
  const scene = await settled(settledWith([answer], changed(41)))
  scene.restart()
  scene.show(settledWith([answer], changed(41)))
  await scene.end()
  scene.show(settledWith([answer], changed(41, 2)), 'replyAmended')
  await scene.end()
  expect(shown(scene)).toEqual([['It is done.\n\n*2 files · +43 −2*', 'Diff=b/diff']])
})
