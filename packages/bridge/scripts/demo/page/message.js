import { make, markupNode } from './element.js'

/**
 * @typedef {import('../view.ts').MessageView} MessageView
 * @typedef {import('../view.ts').ControlView} ControlView
 * @typedef {(message: string, label: string, pressed: HTMLElement) => void} Press
 */

const marks = { pending: '○', running: '◐', done: '✓', failed: '✗' }
const inWords = { pending: 'waiting', running: 'running', done: 'done', failed: 'failed' }

/**
 * Returns a message as its platform shows it. `press` is called for a press of its buttons, and a choice of its selects.
 * @param {MessageView} message
 * @param {Press} press
 */
export function messageElement(message, press) {
  const { id, author, isBot, at, body, tasks, rows, file, reactions, notes, isLive, thread } = message
  const kinds = ['message', isBot ? 'bot' : 'person', thread === undefined ? 'root' : 'in-thread', isLive && 'live']
  const time = new Date(at)
  return make('article', { class: kinds.filter(Boolean).join(' '), 'data-id': id, 'aria-busy': isLive && 'true' }, [
    make('div', { class: 'avatar', 'aria-hidden': 'true', 'data-author': author }, [author.slice(0, 1).toUpperCase()]),
    make('div', { class: 'content' }, [
      make('header', {}, [
        make('span', { class: 'author', 'data-author': author }, [author]),
        isBot ? make('span', { class: 'badge' }, ['bot']) : undefined,
        make('time', { datetime: time.toISOString() }, [
          time.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }),
        ]),
        ...notes.map((note) => make('span', { class: 'note' }, [note])),
      ]),
      make('div', { class: 'bubble' }, [
        body.length > 0 ? make('div', { class: 'body' }, body.map(markupNode)) : undefined,
        tasks.length > 0 ? make('ol', { class: 'tasks' }, tasks.map(taskElement)) : undefined,
        file
          ? make('div', { class: 'file' }, [
              make('span', { class: 'file-name' }, [file.name]),
              make('span', { class: 'file-size' }, [sizeOf(file.bytes)]),
            ])
          : undefined,
      ]),
      rows.length > 0 ? make('div', { class: 'rows' }, rows.map(rowElement)) : undefined,
      reactions.length > 0
        ? make(
            'ul',
            { class: 'reactions', 'aria-label': 'Reactions' },
            reactions.map((one) => make('li', {}, [one])),
          )
        : undefined,
    ]),
  ])

  /**
   * Returns a row of controls.
   * @param {readonly ControlView[]} row
   */
  function rowElement(row) {
    return make('div', { class: 'row' }, row.map(controlElement))
  }

  /**
   * Returns a select for a control with options, otherwise a button.
   * @param {ControlView} control
   */
  function controlElement({ label, style, options }) {
    if (options.length > 0) return selectElement(label, options)
    const button = make('button', { type: 'button', 'data-style': style, 'data-label': label }, [label])
    button.addEventListener('click', () => press(id, label, button))
    return button
  }

  /**
   * Returns a select that shows its label until an option is chosen.
   * @param {string} label
   * @param {readonly string[]} options
   */
  function selectElement(label, options) {
    const none = make('option', { value: '' }, [label])
    const select = make('select', { 'aria-label': label, 'data-label': label }, [
      none,
      ...options.map((option) => make('option', {}, [option])),
    ])
    select.addEventListener('change', () => select.value !== '' && press(id, select.value, select))
    return select
  }
}

/**
 * Returns a task with the mark of its status. Without details, only its title.
 * @param {import('../view.ts').TaskView} task
 */
function taskElement({ title, status, details }) {
  return make('li', { 'data-status': status }, [
    make('span', { class: 'mark', role: 'img', 'aria-label': inWords[status] }, [marks[status]]),
    make('span', { class: 'title' }, [title]),
    details === '' ? undefined : make('div', { class: 'details' }, [details]),
  ])
}

/**
 * Returns a size in bytes, or from 1,000 on in kB.
 * @param {number} bytes
 */
function sizeOf(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
}
