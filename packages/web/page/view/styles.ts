// In the order in which they override each other.
import '../base.css'
import './view.css'
import './text.css'
import './parts.css'
import './diff.css'
import './print.css'
