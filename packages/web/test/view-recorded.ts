import { type Reply, textOf, toolsOf } from '@reply/core'
import { openCode2Version, recordedVersions } from '@reply/testing'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import { type RecordedStream, recordedStreams, statesOf } from '../../reply/test/web/recorded-states.ts'
import { texts } from '../page/texts.ts'
import { differenceOf, toPageRun } from '../src/index.ts'
import { fullAccess, openViewStage, type ViewStage } from './view-stage.ts'

/** The oldest and the newest version of the first dialect, and the second one. */
export const edges: readonly string[] = [recordedVersions[0], recordedVersions.at(-1) ?? '', openCode2Version]

let browser: Browser
let stage: ViewStage

/** What a page shows of a reply while all of its rows are rendered. */
async function shown(): Promise<string> {
  return String(
    await stage.page.evaluate(`{
      dispatchEvent(new Event('beforeprint'))
      const text = document.querySelector('.run').textContent
      dispatchEvent(new Event('afterprint'))
      text
    }`),
  )
}

/** The words of a text that Markdown leaves as they are. */
function wordsOf(text: string): readonly string[] {
  return (text.replace(/\[[^\]]*\]\([^)]*\)|<[^>]*>|&\w+;/g, ' ').match(/[\p{L}\p{N}]{4,}/gu) ?? []).slice(0, 2000)
}

/** Checks that the page shows all that a reply says, calls and asks. */
function compare(text: string, reply: Reply): void {
  expect(wordsOf(textOf(reply)).filter((word) => !text.includes(word))).toEqual([])
  expect(text).toContain(reply.outcome ? texts.outcomes[reply.outcome] : texts.phases[reply.phase])
  for (const { tool, callID } of toolsOf(reply)) {
    // A sub-agent is shown in place of the call that started it.
    const child = reply.children.find((one) => one.callID === callID)
    expect(text).toContain(child ? (child.agent ?? texts.subAgent) : (tool.split('_').at(-1) ?? tool))
  }
}

async function play(stream: RecordedStream): Promise<void> {
  for (const states of await statesOf(stream)) {
    await stage.show(null)
    // Some moments of the run, one after the other as a reader sees them, and its end. Versions in between differ little.
    const moments = (edges.includes(stream.version) ? [0.25, 0.5, 0.75, 1] : [1]).map((part) =>
      Math.round((states.length - 1) * part),
    )
    let before: Reply | undefined
    for (const moment of moments) {
      const reply = states[moment]
      if (!reply) continue
      const run = toPageRun(reply)
      if (!before) await stage.show(run, fullAccess)
      else {
        await stage.page.evaluate(`window.stage.change(${JSON.stringify(differenceOf(toPageRun(before), run))})`)
      }
      before = reply
      compare(await shown(), reply)
    }
    expect(stage.problems).toEqual([])
  }
}

/** Checks what the page shows of the recordings of these versions. The streams of a whole server have the same replies. */
export function testRecorded(isMeant: (version: string) => boolean): void {
  const streams = recordedStreams()
    .filter(({ global, version }) => !global && isMeant(version))
    .map((stream) => [`${stream.version}/${stream.scenario}`, stream] as const)

  beforeAll(async () => {
    browser = await openBrowser()
    stage = await openViewStage(browser)
  })
  afterAll(async () => await browser?.close())

  describe('the page shows all that a recorded reply says, at its end and at moments before', () => {
    test.each(streams)('%s', async (_, stream) => await play(stream))
  })
}
