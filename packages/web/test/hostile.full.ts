import type { Reply } from '@reply/core'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import { callPart, messageOf, permissionOf, promptOf, replyOf, textPart, thoughtPart } from '../scripts/samples.ts'
import { toPageRun } from '../src/index.ts'
import { fullAccess, openViewStage, type ViewStage } from './view-stage.ts'

let browser: Browser
let stage: ViewStage

beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(async () => await browser?.close())
beforeEach(async () => {
  stage = await openViewStage(browser, { height: 2000 })
})
afterEach(async () => {
  // No error, no violation of the policy, no request, no dialog.
  expect(stage.problems).toEqual([])
  expect(await stage.page.evaluate('window.hacked')).toBe(undefined)
  expect(await stage.page.evaluate('document.querySelectorAll("script").length')).toBe(1)
  await stage.page.close()
})

const elements = async (selector: string) =>
  Number(await stage.page.evaluate(`document.querySelectorAll(${JSON.stringify(selector)}).length`))
const shownText = async () => String(await stage.page.locator('.run').textContent())

/** A run in which the agent, its tools, its files, its sub-agents and people say this wherever they can say something. */
function everywhere(said: string): Reply {
  const edit = callPart('edit', { filePath: said, oldString: said, newString: `${said}!` }, [1, 2], {
    title: said,
    metadata: { diff: `@@ -1,1 +1,1 @@\n-${said}\n+${said}!\n` },
  })
  const bash = callPart('bash', { command: said, description: said, cwd: said }, [1, 2], { title: said, output: said })
  const other = callPart(said, { [said]: said, list: [said, { [said]: said }] }, [1, 2], { output: said, title: said })
  const failed = callPart('webfetch', { url: said }, [1, 2], { status: 'error', error: said })
  const todo = callPart('todowrite', { todos: [{ content: said, status: said }] }, [1, 2])
  const asked = callPart('bash', { command: `${said} 2` }, [3])
  const question = callPart('question', {}, [3])
  const task = callPart('task', { description: said, prompt: said, subagent_type: said }, [3])
  const file = { mime: said, url: said, filename: said, caption: said }
  const child = replyOf([messageOf('msg_c', [1], [textPart(said)])], {
    sessionID: 'ses_c',
    prompt: promptOf(said),
    title: said,
  })
  const parts = [
    ...[textPart(said), textPart(`A [link](${said}) and ![a picture](${said}) and <${said}>`), thoughtPart(said)],
    ...[edit, bash, other, failed, todo, asked, question, task],
    { ...textPart(said), type: 'file', id: 'file_1', ...file } as const,
    { ...textPart(said), type: 'retry', attempt: 1, error: { name: said, message: said, raw: {} } } as const,
    { ...textPart(said), type: 'patch', hash: said, files: [said] } as const,
  ]
  return replyOf([messageOf('msg_2', [1], parts), messageOf('msg_3', [2], [])], {
    ...{ title: said, directory: said, agent: said, model: { providerID: said, modelID: said }, phase: 'blocked' },
    prompt: promptOf(said, [said]),
    todos: [{ content: said, status: said, priority: said }],
    changes: {
      msg_1: [
        {
          path: said,
          from: `${said}?`,
          kind: 'renamed',
          additions: 1,
          deletions: 1,
          patches: [`@@ -1,1 +1,1 @@\n-${said}\n+${said}!\n`],
        },
      ],
    },
    children: [{ callID: task.callID, agent: said, title: said, background: false, reply: child }],
    error: { name: said, message: said, raw: {} },
    retry: { attempt: 1, message: said },
    asks: [
      permissionOf(asked, { title: said, patterns: [said], always: [`${said} 2`], metadata: { [said]: said } }),
      {
        ...{
          type: 'question',
          requestID: 'que_1',
          sessionID: 'ses_4f1c',
          path: ['ses_4f1c'],
          directory: said,
          callID: question.callID,
          status: 'pending',
        },
        questions: [
          {
            header: said,
            question: said,
            multiple: false,
            custom: true,
            options: [{ label: said, description: said }],
          },
        ],
      },
    ],
  })
}

/** Shows a run with a text everywhere, all of it unfolded, in all views. */
async function showEverywhere(said: string): Promise<string> {
  await stage.show(toPageRun(everywhere(said)), { ...fullAccess, who: said })
  await stage.page.evaluate('window.dispatchEvent(new Event("beforeprint"))')
  await stage.page.evaluate(
    'for (const head of document.querySelectorAll(".fold-head[aria-expanded=false]")) head.click()',
  )
  await stage.page.locator('.fold-head[aria-expanded="true"]').last().waitFor()
  await stage.page.evaluate(
    'for (const link of document.querySelectorAll(".run a")) { link.dispatchEvent(new MouseEvent("mouseover", { bubbles: true })); link.focus() }',
  )
  const texts = [await shownText()]
  await stage.page.getByRole('tab', { name: 'Changes' }).click()
  texts.push(await shownText())
  return texts.join('\n')
}

const bad = 'window.hacked=1'

describe('in every text that an agent, a tool, a file or a person can make', () => {
  test.each([
    ['an image with a handler', `<img src=x onerror="${bad}">`],
    ['a script', `<script>${bad}</script>`],
    ['the end of a script', `</script><script>${bad}</script>`],
    ['the end of a style', `</style><style>@import 'https://evil.example/a.css';</style>`],
    ['SVG', `<svg onload="${bad}"><script>${bad}</script></svg>`],
    ['a frame', `<iframe src="https://evil.example/" srcdoc="<script>parent.${bad}</script>"></iframe>`],
    ['an image elsewhere', '<img src="https://evil.example/pixel.png">'],
    ['a form', `<form action="https://evil.example/"><input autofocus onfocus="${bad}"></form>`],
    [
      'a base and a refresh',
      '<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/">',
    ],
    ['a link to a script', `<a href="javascript:${bad}">x</a>`],
    ['a comment that hides', `<!--><img src=x onerror=${bad}>-->`],
  ])('%s stays text', async (_, said) => {
    const text = await showEverywhere(said)
    expect(text).toContain(said)
    const unwanted =
      '.run :is(img, iframe, script, style, object, embed, base, meta, form[action], link, [onerror], [onload], [onfocus])'
    expect(await elements(unwanted)).toBe(0)
  })

  test.each([
    ['javascript:', `javascript:${bad}`],
    ['in other letters', `JaVaScRiPt:${bad}`],
    ['with a tab', `java\tscript:${bad}`],
    ['with a character reference', `&#106;avascript:${bad}`],
    ['behind blanks', ` \u0001javascript:${bad}`],
    ['of data', `data:text/html,<script>${bad}</script>`],
    ['of VBScript', `vbscript:${bad}`],
    ['of a file', 'file:///etc/passwd'],
    ['of a blob', 'blob:null/x'],
    ['relative', '//evil.example/x'],
  ])('an address that is not one of the web, %s, makes no link and no image', async (_, said) => {
    await showEverywhere(said)
    expect(await elements('.run a')).toBe(0)
    expect(await elements('.run img')).toBe(0)
  })

  test.each([
    ['of the web', 'https://evil.example/pixel.png'],
    ['of the web without encryption', 'http://evil.example/pixel.png'],
  ])('a picture %s is linked, and not fetched', async (_, said) => {
    await showEverywhere(said)
    expect(await elements('.run img')).toBe(0)
    expect(await elements('.run a:not([rel="noopener noreferrer nofollow"][target="_blank"])')).toBe(0)
    expect(await elements('.run a')).toBeGreaterThan(0)
  })

  test.each([
    ['SVG', `data:image/svg+xml;base64,${btoa(`<svg xmlns="http://www.w3.org/2000/svg" onload="${bad}"/>`)}`],
    ['HTML', `data:text/html;base64,${btoa(`<script>${bad}</script>`)}`],
    ['SVG that is not in Base64', `data:image/svg+xml,<svg onload="${bad}"/>`],
  ])('data of %s makes no picture', async (_, said) => {
    await showEverywhere(said)
    expect(await elements('.run :is(img, object, embed, iframe)')).toBe(0)
  })
})

test('HTML that says it is a picture is shown as none', async () => {
  const file = { ...textPart(''), id: 'file_1', type: 'file', mime: 'image/png', filename: 'a.png' } as const
  const url = `data:image/png;base64,${btoa(`<script>${bad}</script>`)}`
  await stage.show(toPageRun(replyOf([messageOf('msg_2', [1], [{ ...file, url }])])))
  await stage.page.getByText('a.png').first().waitFor()
  await expect.poll(() => elements('.run img')).toBe(0)
})

test('characters that turn or hide text are written out in names, commands and asks', async () => {
  const said = 'invoice\u202egpj.exe\u200b'
  const text = await showEverywhere(said)
  expect(text).toContain('invoice\\u202egpj.exe\\u200b')
  const places = [
    '.ask-title',
    '.detail',
    '.fold-head',
    '.file-head',
    '.prompt-files',
    'figcaption',
    '.facts',
    '.terminal',
    '.todo',
    'h1',
  ]
  for (const place of places) {
    const found = await stage.page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(place)})].some((one) => one.textContent.includes('\\u202e'))`,
    )
    expect([place, found]).toEqual([place, false])
  }
})

describe('a text that is too long to be read', () => {
  const texts: readonly (readonly [string, string])[] = [
    ['a megabyte in one line', 'word '.repeat(200_000)],
    ['a megabyte without a blank', 'x'.repeat(1_000_000)],
    ['100,000 lines', 'A line of text\n'.repeat(100_000)],
    ['a code block of 100,000 lines', `\`\`\`ts\n${'const a = 1\n'.repeat(100_000)}\`\`\``],
    ['100,000 open brackets', '['.repeat(100_000)],
    ['100,000 stars', '*a _b '.repeat(20_000)],
    ['100,000 quotes in each other', `${'>'.repeat(100_000)} deep`],
    ['lists in each other', Array.from({ length: 3000 }, (_, at) => `${' '.repeat(at * 2)}- x`).join('\n')],
    [
      'a table of 2,000 columns',
      `${'|a'.repeat(2000)}|\n${'|-'.repeat(2000)}|\n${`${'|b'.repeat(2000)}|\n`.repeat(20)}`,
    ],
    ['100,000 backticks', '`'.repeat(100_000)],
    ['100,000 links', '[a](b '.repeat(20_000)],
    ['HTML that never ends', '<a '.repeat(30_000)],
    ['right to left, and marks', '\u202e\u0301\u05d0'.repeat(100_000)],
  ]
  test.each(texts)('%s is shown, in an answer', async (_, said) => {
    await stage.show(toPageRun(replyOf([messageOf('msg_2', [1], [textPart(said)])])))
    await expect.poll(() => elements('.row-text')).toBeGreaterThan(0)
    expect(await elements('.rows *')).toBeLessThan(60_000)
  })

  test.each(texts)('%s is shown, as the output of a command', async (_, said) => {
    const call = callPart('bash', { command: 'cat log' }, [1, 2], { output: said })
    await stage.show(toPageRun(replyOf([messageOf('msg_2', [1], [call])])))
    await stage.page.getByRole('button', { name: /cat log/ }).click()
    await stage.page.locator('.terminal .piece').first().waitFor()
    expect(await elements('.rows *')).toBeLessThan(1000)
    const more = stage.page.getByRole('button', { name: 'Show all' })
    if ((await more.count()) > 0) {
      await more.click()
      await expect.poll(() => elements('.terminal .more')).toBe(0)
    }
  })
})
