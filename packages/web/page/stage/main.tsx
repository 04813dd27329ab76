import { render } from 'preact'
import { applyDifference, type Change } from '../../src/state/difference.ts'
import type { PageRun } from '../../src/state/page-run.ts'
import { createFrames } from '../view/frames.ts'
import { RunView, type RunViewProps } from '../view/run-view.tsx'

/** What tests and benchmarks do with the view of a run, in a page that has nothing else. */
export interface Stage {
  /** Shows a run. `null` removes the one before, with all that was unfolded there. */
  show(run: PageRun | null, access?: RunViewProps['access'], moment?: number): void
  /**
   * Applies a change that came, and shows the newest state soon, as the page of a run does. Resolves once it is shown and
   * placed.
   */
  change(changes: readonly Change[]): Promise<void>
  /** What the reader did. */
  readonly calls: unknown[][]
  /** Set to let what the reader does fail with this message. */
  problem?: string
}

declare global {
  interface Window {
    stage: Stage
  }
}

const root = document.getElementById('app')
const calls: unknown[][] = []
const frames = createFrames()
let waiting: (() => void)[] = []
let newest: PageRun | undefined
let newestAccess: RunViewProps['access']
let newestMoment: number | undefined

async function note(...call: unknown[]): Promise<void> {
  calls.push(call)
  if (stage.problem !== undefined) throw new Error(stage.problem)
}

const actions = {
  answer: (ask: { requestID: string }, answer: unknown) => note('answer', ask.requestID, answer),
  reject: (ask: { requestID: string }, message?: string) => note('reject', ask.requestID, message),
  stop: () => note('stop'),
}

const sources = {
  file: async (id: string) => {
    calls.push(['file', id])
    return new Uint8Array([0x89, 0x50, 0x4e, 0x47])
  },
  diff: async () => {
    calls.push(['diff'])
    return [
      {
        path: 'session.txt',
        kind: 'added',
        additions: 1,
        deletions: 0,
        patches: ['@@ -0,0 +1,1 @@\n+whole session\n'],
      },
    ] as const
  },
}

function paint(): void {
  if (!root) return
  render(
    newest ? (
      <main>
        <RunView run={newest} access={newestAccess} actions={actions} sources={sources} moment={newestMoment} />
      </main>
    ) : null,
    root,
  )
  const shown = waiting
  waiting = []
  // Two frames: rows that were measured in the first are placed in the second.
  requestAnimationFrame(() => requestAnimationFrame(() => shown.map((resolve) => resolve())))
}

const stage: Stage = {
  show(run, access, moment) {
    newest = run ?? undefined
    newestAccess = access
    newestMoment = moment
    paint()
  },
  change(changes) {
    newest = applyDifference(newest, changes) as PageRun
    frames.request(paint)
    return new Promise((resolve) => waiting.push(resolve))
  },
  calls,
}
window.stage = stage
