import { createComposer } from './composer.js'
import { openDialog } from './dialog.js'
import { make } from './element.js'
import { messageElement } from './message.js'

/**
 * @typedef {import('../view.ts').ChatUpdate} ChatUpdate
 * @typedef {import('../view.ts').Suggestion} Suggestion
 * @typedef {(path: string, body: object) => Promise<{ notice?: string }>} Post
 */

/** A distance from the end, in px, at which new messages still scroll the log along. */
const nearEnd = 80
const noticeMs = 5000
const names = { telegram: 'Telegram', slack: 'Slack', discord: 'Discord', whatsapp: 'WhatsApp' }
const kinds = { telegram: 'group', slack: 'channel', discord: 'channel', whatsapp: 'chat' }

/**
 * Creates one chat of the page, without messages. `update` shows them.
 * @param {ChatUpdate} first
 * @param {{ readonly suggestions: readonly Suggestion[], readonly post: Post }} options
 */
export function createChat(first, { suggestions, post }) {
  const { name, platform, title, people } = first
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map()
  /** @type {number | undefined} */
  let noticeTimer
  /** @type {HTMLDialogElement | undefined} */
  let dialog
  const label = `${names[platform]}, ${title}`
  const log = make('div', {
    class: 'log',
    role: 'log',
    'aria-live': 'off',
    'aria-label': `Messages in ${label}`,
    tabindex: '0',
  })
  // The log itself is silent: a message that is edited many times a second would be read out as often.
  const spoken = make('div', { class: 'visually-hidden', role: 'status' })
  const notice = make('div', { class: 'notice', role: 'alert', hidden: true })
  const status = make('div', { class: 'status', 'aria-hidden': 'true' })
  const stop = make('button', { type: 'button', class: 'stop', disabled: true }, ['Stop'])
  stop.addEventListener(
    'click',
    () => void act('/stop', composer.thread() === undefined ? {} : { thread: composer.thread() }),
  )
  const composer = createComposer({
    ...{ name, platform: names[platform], people, suggestions },
    say: (text, thread) => act('/say', { text, ...(thread !== undefined && { thread }) }),
  })
  const section = make(
    'section',
    { class: 'chat', 'data-platform': platform, 'data-chat': name, 'aria-label': label },
    [
      make('header', { class: 'chat-head' }, [
        make('span', { class: 'logo', 'aria-hidden': 'true' }, [names[platform].slice(0, 1)]),
        make('div', { class: 'chat-title' }, [
          make('h2', {}, [title]),
          make('p', {}, [`${names[platform]} ${kinds[platform]} · ${people.map((one) => one.name).join(', ')}, reply`]),
        ]),
        stop,
      ]),
      log,
      status,
      notice,
      composer.element,
      spoken,
    ],
  )
  // A window that changes its size moves the end out of sight, and may scroll the log.
  let wasNearEnd = true
  let size = ''
  log.addEventListener('scroll', () => {
    if (size === sizeOf(log)) wasNearEnd = isNearEnd()
  })
  new ResizeObserver(() => {
    size = sizeOf(log)
    if (wasNearEnd) log.scrollTop = log.scrollHeight
  }).observe(log)
  return { element: section, update }

  /** Whether the log is scrolled to its end, or almost. */
  function isNearEnd() {
    return log.scrollHeight - log.scrollTop - log.clientHeight < nearEnd
  }

  /**
   * Shows the changes of a chat, and removes messages that it no longer has. Keeps the log at its end if it was there.
   * @param {ChatUpdate} chat
   */
  function update({ order, changed, status: statusText, isWorking, threads, dialogs }) {
    const isAtEnd = isNearEnd()
    for (const message of changed) put(message)
    for (const [id, element] of shown) {
      if (order.includes(id)) continue
      element.remove()
      shown.delete(id)
    }
    arrange(order)
    status.textContent = statusText
    stop.disabled = !isWorking
    section.dataset.working = String(isWorking)
    composer.setThreads(threads)
    showDialog(dialogs)
    if (isAtEnd) log.scrollTop = log.scrollHeight
  }

  /**
   * Adds a message, or replaces it and keeps the focus in it. A new message is not in the log yet, see `arrange`. Screen
   * readers speak a new one of the bot.
   * @param {import('../view.ts').MessageView} message
   */
  function put(message) {
    const element = messageElement(message, (id, pressed, control) => void press(id, pressed, control))
    const before = shown.get(message.id)
    shown.set(message.id, element)
    if (!before && message.isBot)
      spoken.textContent = `${message.author}: ${(element.querySelector('.body')?.textContent ?? '').slice(0, 200)}`
    if (!before) return
    const focused = before.contains(document.activeElement) ? document.activeElement?.getAttribute('data-label') : null
    before.replaceWith(element)
    if (focused == null) return
    const again = [...element.querySelectorAll('[data-label]')].find(
      (one) => one.getAttribute('data-label') === focused,
    )
    if (again instanceof HTMLElement) again.focus()
    else log.focus()
  }

  /**
   * Puts the messages into the log in this order, and moves only those that are elsewhere. Ignores unknown ids.
   * @param {readonly string[]} order
   */
  function arrange(order) {
    /** @type {Element | null} */
    let next = log.firstElementChild
    for (const id of order) {
      const element = shown.get(id)
      if (!element) continue
      if (element === next) next = next.nextElementSibling
      else log.insertBefore(element, next)
    }
  }

  /**
   * Sends the press of a button, or the choice of an option, and marks the control until there is an answer.
   * @param {string} message
   * @param {string} pressed
   * @param {HTMLElement} control
   */
  async function press(message, pressed, control) {
    control.dataset.waiting = 'true'
    await act('/press', { message, label: pressed })
    delete control.dataset.waiting
    if (control instanceof HTMLSelectElement) control.value = ''
  }

  /**
   * Sends an action of the chosen person, and shows the notice or error of the answer. Resolves with whether it succeeded.
   * @param {string} path
   * @param {object} body
   */
  async function act(path, body) {
    try {
      const answer = await post(path, { chat: name, person: composer.person(), ...body })
      if (answer.notice !== undefined) showNotice(answer.notice)
      return true
    } catch (error) {
      showNotice(error instanceof Error ? error.message : String(error))
      return false
    }
  }

  /**
   * Shows a notice in place of an earlier one, for `noticeMs`.
   * @param {string} text
   */
  function showNotice(text) {
    clearTimeout(noticeTimer)
    notice.textContent = text
    notice.hidden = false
    noticeTimer = setTimeout(() => {
      notice.hidden = true
    }, noticeMs)
  }

  /**
   * Opens the dialog of the chosen person, or else the first one. Keeps a dialog that is open, and removes it once there is
   * none.
   * @param {ChatUpdate['dialogs']} dialogs
   */
  function showDialog(dialogs) {
    const wanted = dialogs.find(({ person }) => person === composer.person()) ?? dialogs[0]
    if (!wanted) {
      dialog?.remove()
      dialog = undefined
    } else if (!dialog) {
      dialog = openDialog(wanted, (answers) => void act('/submit', { person: wanted.person, answers }))
      section.append(dialog)
      dialog.showModal()
    }
  }
}

/**
 * Returns a text that changes with the inner size of an element.
 * @param {HTMLElement} element
 */
function sizeOf({ clientWidth, clientHeight }) {
  return `${clientWidth} ${clientHeight}`
}
