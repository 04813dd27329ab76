import { createChat } from './chat.js'

/**
 * @typedef {import('../view.ts').ChatUpdate} ChatUpdate
 * @typedef {import('../view.ts').Suggestion} Suggestion
 */

/** @type {Map<string, ReturnType<typeof createChat>>} */
const chats = new Map()
/** @type {readonly Suggestion[]} */
let suggestions = []
const place = found('chats')
const connection = found('connection')
const events = new EventSource('/events')

events.addEventListener('open', () => connected('live'))
// The browser connects again by itself, and then gets everything anew.
events.addEventListener('error', () => connected('gone'))
events.addEventListener('suggestions', ({ data }) => {
  suggestions = JSON.parse(data)
})
events.addEventListener('chat', ({ data }) => {
  /** @type {ChatUpdate} */
  const update = JSON.parse(data)
  chatFor(update).update(update)
})

/**
 * Returns the chat of an update. Creates it on the page at its first update.
 * @param {ChatUpdate} update
 */
function chatFor(update) {
  const chat = chats.get(update.name) ?? createChat(update, { suggestions, post })
  if (!chats.has(update.name)) {
    chats.set(update.name, chat)
    place.append(chat.element)
  }
  return chat
}

/**
 * Posts an action, and resolves with the answer. Rejects with the server's message if it is refused.
 * @param {string} path
 * @param {object} body
 * @returns {Promise<{ notice?: string }>}
 */
async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error)
  return answer
}

/**
 * Shows whether the page gets updates.
 * @param {'live' | 'gone'} state
 */
function connected(state) {
  connection.dataset.state = state
  connection.textContent = state === 'live' ? 'live' : 'the demo has ended'
}

/**
 * Returns the element of the page with an id. Throws if there is none.
 * @param {string} id
 */
function found(id) {
  const element = document.getElementById(id)
  if (!element) throw new Error(`The page has no element ${id}.`)
  return element
}
