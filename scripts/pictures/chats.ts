import type { Locator, Page } from 'playwright-core'
import { discordChat } from '../../packages/bridge/scripts/demo/chats/discord.ts'
import { slackChat } from '../../packages/bridge/scripts/demo/chats/slack.ts'
import { telegramChat } from '../../packages/bridge/scripts/demo/chats/telegram.ts'
import { whatsappChat } from '../../packages/bridge/scripts/demo/chats/whatsapp.ts'
import { startBridgeDemo } from '../../packages/bridge/scripts/demo/demo.ts'

/** Takes a picture, and stores it under a name. */
type Save = (name: string, what: Page | Locator) => Promise<void>

const morning = Date.UTC(2026, 0, 5, 9, 41)

/** Takes pictures of the demo's page, and of each platform's screen: the same page, with only that chat. */
export async function chatScenes(page: Page, save: Save): Promise<void> {
  const demo = await startBridgeDemo({
    chats: [telegramChat, slackChat, discordChat, whatsappChat],
    chunkDelayMs: 0,
    now: () => morning,
  })
  try {
    await page.setViewportSize({ width: 2600, height: 1000 })
    await page.goto(demo.url)
    await telegramAndSlack(page, save)
    await discord(page, save)
    await whatsapp(page, save)
  } finally {
    await demo.close()
  }
}

/** Plays Telegram and Slack. Takes the picture of the page with both, and one of each. */
async function telegramAndSlack(page: Page, save: Save): Promise<void> {
  const [telegram, slack] = [chatOf(page, 'telegram'), chatOf(page, 'slack')]
  await ask(telegram, 'Ben', 'Explain the project')
  await ask(slack, 'Ben', 'Fix the discount')
  await logOf(slack).getByRole('button', { name: 'Before tax' }).click()
  await logOf(telegram).getByRole('heading', { name: 'A small shop' }).waitFor()
  await logOf(slack).getByRole('button', { name: 'Allow once' }).click()
  await logOf(slack).getByText('visible to Ben only').last().waitFor()
  await waitUntilIdle(telegram)
  await ask(telegram, 'Ben', 'Run the tests')
  await logOf(telegram).getByRole('button', { name: 'Allow once' }).waitFor()
  await actAs(slack, 'Ann')
  await showOnly(page, ['telegram', 'slack'], { width: 1280, height: 800 })
  await save('demo-bridge', page)
  await saveChat(page, 'telegram', save, 760)
  await showOnly(page, ['slack'], { width: 680, height: 1000 })
  await logOf(slack).getByRole('button', { name: 'Allow once' }).click()
  await logOf(slack).getByText('Only src/cart.js was changed.').waitFor()
  await waitUntilIdle(slack)
  await saveChat(page, 'slack', save, 860)
}

/** Plays Discord, and takes its picture in the dark. */
async function discord(page: Page, save: Save): Promise<void> {
  const chat = chatOf(page, 'discord')
  await showOnly(page, ['discord'], { width: 680, height: 1000 })
  await ask(chat, 'Ann', 'Review with a sub-agent')
  await logOf(chat).getByText('every customer pays the full price').waitFor()
  await waitUntilIdle(chat)
  await ask(chat, 'Ben', 'Run the tests')
  await logOf(chat).getByRole('button', { name: 'Allow once' }).waitFor()
  await page.emulateMedia({ colorScheme: 'dark' })
  await saveChat(page, 'discord', save, 760)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Plays WhatsApp, and takes its picture. */
async function whatsapp(page: Page, save: Save): Promise<void> {
  const chat = chatOf(page, 'whatsapp')
  await showOnly(page, ['whatsapp'], { width: 680, height: 1000 })
  await ask(chat, 'Ann', 'Explain the project')
  await logOf(chat).getByText('to rounding sooner or later').waitFor()
  await waitUntilIdle(chat)
  await ask(chat, 'Ann', 'Fix the discount')
  await logOf(chat).getByRole('button', { name: 'Before tax' }).waitFor()
  await saveChat(page, 'whatsapp', save, 760)
}

/** The part of the page with a platform's chat. */
const chatOf = (page: Page, name: string): Locator => page.locator(`[data-chat=${name}]`)
/** The messages of a chat. */
const logOf = (chat: Locator): Locator => chat.getByRole('log')

/** Chooses the person who acts in a chat from now on. */
async function actAs(chat: Locator, person: string): Promise<void> {
  await chat.locator('label', { hasText: person }).click()
}

/** Sends one of the suggested prompts as a person. Does not wait for the reply. */
async function ask(chat: Locator, person: string, suggestion: string): Promise<void> {
  await actAs(chat, person)
  await chat.getByRole('button', { name: suggestion }).click()
}

/** Waits until no run can be stopped and no status shows in a chat. */
async function waitUntilIdle(chat: Locator): Promise<void> {
  await chat.locator('.stop:disabled').waitFor()
  await chat.locator('.status:empty').waitFor({ state: 'attached' })
}

interface Size {
  readonly width: number
  readonly height: number
}

/** Shows these chats alone, scrolled to their ends, in a page of this size. Undoes an earlier choice. */
async function showOnly(page: Page, names: readonly string[], size: Size): Promise<void> {
  await page.locator('style[data-picture]').evaluateAll((styles) => {
    for (const style of styles) style.remove()
  })
  const shown = names.map((name) => `:not([data-chat=${name}])`).join('')
  await style(page, `.chat${shown} { display: none }`)
  await page.setViewportSize(size)
  await page.locator('.log').evaluateAll((logs) => {
    for (const one of logs) one.scrollTop = one.scrollHeight
  })
}

/** Shows one chat alone, scrolled to its end and without the demo's own controls, and takes its picture. */
async function saveChat(page: Page, name: string, save: Save, height: number): Promise<void> {
  await showOnly(page, [name], { width: 900, height })
  await style(page, '.page-head, .composer, .stop, .notice { display: none } main { padding: 0 130px }')
  await page.locator('.log').evaluateAll((logs) => {
    for (const one of logs) one.scrollTop = one.scrollHeight
  })
  await save(name, chatOf(page, name))
}

/** Adds a style sheet to the page. The next `showOnly` removes it. */
async function style(page: Page, content: string): Promise<void> {
  const added = await page.addStyleTag({ content })
  await added.evaluate((element) => element.setAttribute('data-picture', ''))
}
