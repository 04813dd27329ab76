import { make } from './element.js'

/**
 * @typedef {import('../view.ts').ThreadView} ThreadView
 * @typedef {object} ComposerOptions
 * @property {string} name
 * @property {string} platform Its name for people.
 * @property {readonly import('../view.ts').PersonView[]} people
 * @property {readonly import('../view.ts').Suggestion[]} suggestions
 * @property {(text: string, thread: string | undefined) => Promise<boolean>} say Resolves with whether it was sent.
 */

const newThread = 'new'

/**
 * Creates the form where people write: which of them, in which thread, and what.
 * @param {ComposerOptions} options
 */
export function createComposer({ name, platform, people, suggestions, say }) {
  const [someone] = people
  let threadsShown = ''
  const radios = people.map(({ id, name: shown, may }, index) => {
    const radio = make('input', { type: 'radio', name: `person-${name}`, value: id, checked: index === 0 })
    const avatar = make('span', { class: 'avatar', 'aria-hidden': 'true', 'data-author': shown }, [shown.slice(0, 1)])
    const rights = make('span', { class: 'visually-hidden' }, [` (may ${may})`])
    return { radio, label: make('label', { title: `May ${may}` }, [radio, avatar, shown, rights]) }
  })
  const threads = make('select', { 'aria-label': 'Where to write' })
  const text = make('textarea', {
    ...{ rows: '1', placeholder: `Write to the bot on ${platform} …` },
    'aria-label': 'Message',
  })
  const send = make('button', { type: 'submit', class: 'send' }, ['Send'])
  const where = make('div', { class: 'where', hidden: true }, [threads])
  const form = make('form', { class: 'composer' }, [
    make(
      'div',
      { class: 'suggestions', role: 'group', 'aria-label': 'Suggested prompts' },
      suggestions.map(({ label, prompt }) => {
        const chip = make('button', { type: 'button', title: prompt }, [label])
        chip.addEventListener('click', () => void submit(prompt))
        return chip
      }),
    ),
    make('div', { class: 'who' }, [
      make('fieldset', { class: 'people' }, [
        make('legend', { class: 'visually-hidden' }, ['The person who writes and presses']),
        ...radios.map(({ label }) => label),
      ]),
      where,
    ]),
    make('div', { class: 'entry' }, [text, send]),
  ])
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void submitTyped()
  })
  text.addEventListener('input', fit)
  text.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    void submitTyped()
  })
  return { element: form, person, thread, setThreads }

  /** Returns the id of the chosen person. Empty if there are no people. */
  function person() {
    return radios.find(({ radio }) => radio.checked)?.radio.value ?? someone?.id ?? ''
  }

  /** Returns the id of the chosen thread. Undefined for a new one, and on platforms without threads. */
  function thread() {
    return threads.value === '' || threads.value === newThread ? undefined : threads.value
  }

  /**
   * Shows the threads to choose from, or nothing if there are none. Chooses the newest if it is new. Does nothing if they are
   * the same as before.
   * @param {readonly ThreadView[]} all
   */
  function setThreads(all) {
    const key = JSON.stringify(all)
    if (key === threadsShown) return
    const isNew = all.length > 0 && !threadsShown.includes(JSON.stringify(all.at(-1)?.id))
    threadsShown = key
    const before = threads.value
    const options = all.map(({ id, title }) => make('option', { value: id }, [`In the thread “${cut(title)}”`]))
    threads.replaceChildren(...options, make('option', { value: newThread }, ['In a new thread']))
    threads.value = isNew ? (all.at(-1)?.id ?? newThread) : before
    where.hidden = all.length === 0
  }

  /** Sends the typed text, and empties the field. Puts the text back if it was not sent. Does nothing for an empty text. */
  async function submitTyped() {
    const typed = text.value.trim()
    if (typed === '') return
    text.value = ''
    fit()
    if (await submit(typed)) return
    text.value = typed
    fit()
  }

  /**
   * Sends a text to the chosen thread. Resolves with whether it was sent.
   * @param {string} text
   */
  function submit(text) {
    return say(text, thread())
  }

  /** Makes the field as high as its text, at most 160 px. */
  function fit() {
    text.style.height = 'auto'
    text.style.height = `${Math.min(text.scrollHeight, 160)}px`
  }
}

/**
 * Returns a title with at most 30 characters.
 * @param {string} title
 */
function cut(title) {
  return title.length > 30 ? `${title.slice(0, 29)}…` : title
}
