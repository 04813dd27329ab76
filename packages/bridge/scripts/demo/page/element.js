/**
 * Makes an element. Children that are strings become text, never markup, so that nothing that a model or a person
 * writes is parsed as HTML. No other function of the page makes elements.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string | boolean | undefined>>} [attributes] `true` sets one without a value
 * @param {readonly (Node | string | undefined)[]} [children]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, children = []) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    made.setAttribute(name, value === true ? '' : value)
  }
  made.append(...children.filter((child) => child !== undefined))
  return made
}

/** @typedef {import('../view.ts').Markup} Markup */

/** Tags of messages that are not elements of their own. @type {Readonly<Record<string, keyof HTMLElementTagNameMap>>} */
const others = { lines: 'div', spoiler: 'span', mention: 'span', h1: 'h3', h2: 'h4', h3: 'h5', h4: 'h6', h5: 'h6' }

/** Tags of messages that are elements with the same name. @type {readonly string[]} */
const same = [
  ...['p', 'h6', 'ul', 'li', 'blockquote', 'code', 'hr', 'strong', 'em', 'del', 'u', 'small', 'br'],
  ...['table', 'thead', 'tbody', 'tr'],
]

/**
 * Returns the node of formatted text. A tag that is not known here becomes a `span`.
 * @param {Markup} markup
 * @returns {Node}
 */
export function markupNode(markup) {
  if (typeof markup === 'string') return document.createTextNode(markup)
  const { tag, children, href, language, align, isChecked, start } = markup
  const inner = children.map(markupNode)
  switch (tag) {
    case 'a':
      return make('a', { href: safe(href), target: '_blank', rel: 'noopener noreferrer' }, inner)
    case 'pre':
      return make('pre', { 'data-language': language, tabindex: '0' }, [codeOf(inner, language)])
    case 'ol':
      return make('ol', { start: start === undefined ? undefined : String(start) }, inner)
    case 'th':
    case 'td':
      return make(tag, { 'data-align': align }, inner)
    case 'check':
      return make('span', { class: 'check', role: 'img', 'aria-label': isChecked ? 'done' : 'not done' }, [
        isChecked ? '☑ ' : '☐ ',
      ])
    case 'table':
      return make('div', { class: 'table', tabindex: '0' }, [make('table', {}, inner)])
    default: {
      const other = others[tag]
      if (other) return make(other, { class: tag }, inner)
      const known = /** @type {keyof HTMLElementTagNameMap | undefined} */ (same.find((one) => one === tag))
      return make(known ?? 'span', {}, inner)
    }
  }
}

/**
 * Returns an address if it is http, https without credentials, or mailto, otherwise undefined. The server only makes such
 * links.
 * @param {string | undefined} href
 */
function safe(href) {
  return href !== undefined && /^(?:https?:\/\/(?![^/?#]*@)|mailto:)/i.test(href) ? href : undefined
}

/**
 * Returns code. A diff has an element for each line, whose class is its kind.
 * @param {readonly Node[]} inner
 * @param {string | undefined} language
 */
function codeOf(inner, language) {
  if (language !== 'diff') return make('code', {}, inner)
  const lines = inner
    .map((node) => node.textContent ?? '')
    .join('')
    .split('\n')
  return make(
    'code',
    {},
    lines.map((line) => make('span', { class: `diff-${kindOf(line)}` }, [`${line}\n`])),
  )
}

/**
 * Returns the kind of a line of a diff: `file`, `place`, `added`, `removed` or `same`.
 * @param {string} line
 */
function kindOf(line) {
  if (/^(?:\+\+\+|---|Index:|===)/.test(line)) return 'file'
  if (line.startsWith('@@')) return 'place'
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
}
