/* SPDX-License-Identifier: Apache-2.0 */
/* openssl.h: OpenSSL 3, which is loaded when the first key is used (io/library.h), not linked: a program without a key
 * needs no OpenSSL, and the wheel of the PyTorch binding works on each machine. A source file that includes this header
 * calls OpenSSL's functions by their names, through the table below. One that is missing there does not link. Call
 * nothing before trib_keys_explain_lack() (derive.h) was NULL. */
#ifndef TRIB_KEYS_OPENSSL_H
#define TRIB_KEYS_OPENSSL_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

/* clang-format off */
#define TRIB_OPENSSL_FUNCTIONS(X) \
    X(ERR_clear_error) X(ERR_error_string_n) X(ERR_peek_last_error) \
    X(ERR_reason_error_string) X(BIO_ctrl) X(BIO_free) \
    X(BIO_new) X(BIO_read) X(BIO_s_mem) \
    X(BIO_write) X(CRYPTO_memcmp) X(EVP_CIPHER_CTX_free) \
    X(EVP_CIPHER_CTX_new) X(EVP_CIPHER_fetch) X(EVP_CIPHER_free) \
    X(EVP_EncryptInit_ex2) X(EVP_EncryptUpdate) X(EVP_KDF_CTX_free) \
    X(EVP_KDF_CTX_new) X(EVP_KDF_derive) X(EVP_KDF_fetch) \
    X(EVP_KDF_free) X(OPENSSL_init_crypto) X(OSSL_PARAM_construct_end) \
    X(OSSL_PARAM_construct_octet_string) X(OSSL_PARAM_construct_utf8_string) X(SSL_CIPHER_find) \
    X(SSL_CTX_ctrl) X(SSL_CTX_free) X(SSL_CTX_new) \
    X(SSL_CTX_set_ciphersuites) X(SSL_CTX_set_num_tickets) X(SSL_CTX_set_options) \
    X(SSL_CTX_set_psk_find_session_callback) X(SSL_CTX_set_psk_use_session_callback) X(SSL_CTX_set_verify) \
    X(SSL_SESSION_free) X(SSL_SESSION_new) X(SSL_SESSION_set1_master_key) \
    X(SSL_SESSION_set_cipher) X(SSL_SESSION_set_protocol_version) X(SSL_do_handshake) \
    X(SSL_free) X(SSL_get_error) X(SSL_get_ex_data) \
    X(SSL_in_before) X(SSL_new) X(SSL_read) \
    X(SSL_session_reused) X(SSL_set_accept_state) X(SSL_set_bio) \
    X(SSL_set_connect_state) X(SSL_set_ex_data) X(SSL_write) \
    X(TLS_client_method) X(TLS_server_method)
/* clang-format on */

#define TRIB_OPENSSL_FIELD(name) __typeof__(&(name)) name##_;
struct trib_openssl {
    TRIB_OPENSSL_FUNCTIONS(TRIB_OPENSSL_FIELD)
};
#undef TRIB_OPENSSL_FIELD

extern struct trib_openssl trib_openssl;

#define ERR_clear_error trib_openssl.ERR_clear_error_
#define ERR_error_string_n trib_openssl.ERR_error_string_n_
#define ERR_peek_last_error trib_openssl.ERR_peek_last_error_
#define ERR_reason_error_string trib_openssl.ERR_reason_error_string_
#define BIO_ctrl trib_openssl.BIO_ctrl_
#define BIO_free trib_openssl.BIO_free_
#define BIO_new trib_openssl.BIO_new_
#define BIO_read trib_openssl.BIO_read_
#define BIO_s_mem trib_openssl.BIO_s_mem_
#define BIO_write trib_openssl.BIO_write_
#define CRYPTO_memcmp trib_openssl.CRYPTO_memcmp_
#define EVP_CIPHER_CTX_free trib_openssl.EVP_CIPHER_CTX_free_
#define EVP_CIPHER_CTX_new trib_openssl.EVP_CIPHER_CTX_new_
#define EVP_CIPHER_fetch trib_openssl.EVP_CIPHER_fetch_
#define EVP_CIPHER_free trib_openssl.EVP_CIPHER_free_
#define EVP_EncryptInit_ex2 trib_openssl.EVP_EncryptInit_ex2_
#define EVP_EncryptUpdate trib_openssl.EVP_EncryptUpdate_
#define EVP_KDF_CTX_free trib_openssl.EVP_KDF_CTX_free_
#define EVP_KDF_CTX_new trib_openssl.EVP_KDF_CTX_new_
#define EVP_KDF_derive trib_openssl.EVP_KDF_derive_
#define EVP_KDF_fetch trib_openssl.EVP_KDF_fetch_
#define EVP_KDF_free trib_openssl.EVP_KDF_free_
#define OPENSSL_init_crypto trib_openssl.OPENSSL_init_crypto_
#define OSSL_PARAM_construct_end trib_openssl.OSSL_PARAM_construct_end_
#define OSSL_PARAM_construct_octet_string trib_openssl.OSSL_PARAM_construct_octet_string_
#define OSSL_PARAM_construct_utf8_string trib_openssl.OSSL_PARAM_construct_utf8_string_
#define SSL_CIPHER_find trib_openssl.SSL_CIPHER_find_
#define SSL_CTX_ctrl trib_openssl.SSL_CTX_ctrl_
#define SSL_CTX_free trib_openssl.SSL_CTX_free_
#define SSL_CTX_new trib_openssl.SSL_CTX_new_
#define SSL_CTX_set_ciphersuites trib_openssl.SSL_CTX_set_ciphersuites_
#define SSL_CTX_set_num_tickets trib_openssl.SSL_CTX_set_num_tickets_
#define SSL_CTX_set_options trib_openssl.SSL_CTX_set_options_
#define SSL_CTX_set_psk_find_session_callback trib_openssl.SSL_CTX_set_psk_find_session_callback_
#define SSL_CTX_set_psk_use_session_callback trib_openssl.SSL_CTX_set_psk_use_session_callback_
#define SSL_CTX_set_verify trib_openssl.SSL_CTX_set_verify_
#define SSL_SESSION_free trib_openssl.SSL_SESSION_free_
#define SSL_SESSION_new trib_openssl.SSL_SESSION_new_
#define SSL_SESSION_set1_master_key trib_openssl.SSL_SESSION_set1_master_key_
#define SSL_SESSION_set_cipher trib_openssl.SSL_SESSION_set_cipher_
#define SSL_SESSION_set_protocol_version trib_openssl.SSL_SESSION_set_protocol_version_
#define SSL_do_handshake trib_openssl.SSL_do_handshake_
#define SSL_free trib_openssl.SSL_free_
#define SSL_get_error trib_openssl.SSL_get_error_
#define SSL_get_ex_data trib_openssl.SSL_get_ex_data_
#define SSL_in_before trib_openssl.SSL_in_before_
#define SSL_new trib_openssl.SSL_new_
#define SSL_read trib_openssl.SSL_read_
#define SSL_session_reused trib_openssl.SSL_session_reused_
#define SSL_set_accept_state trib_openssl.SSL_set_accept_state_
#define SSL_set_bio trib_openssl.SSL_set_bio_
#define SSL_set_connect_state trib_openssl.SSL_set_connect_state_
#define SSL_set_ex_data trib_openssl.SSL_set_ex_data_
#define SSL_write trib_openssl.SSL_write_
#define TLS_client_method trib_openssl.TLS_client_method_
#define TLS_server_method trib_openssl.TLS_server_method_

#endif
